// Store seam: the durable memory of a gateway or an agent. Changes are staged and become durable together in
// commit(), called once per turn of the loop (core/turn.h). Inside it is an append-only journal in position order,
// whose outdated entries are folded away.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace berth {

enum class Table : std::uint8_t {
  meta = 1,     // both sides: term, store id, incarnation, floor, ...
  object = 2,   // gateway: "<kind>/<ns>/<name>" -> JSON
  row = 3,      // gateway: pod uid -> binding row; has a phase
  release = 4,  // gateway: "<node>/<uid>/<epoch>" -> release-list entry
  node = 5,     // gateway: node name -> incarnation and what is known of it
  slot = 6,     // agent: pod uid -> slot
  high = 7,     // agent: pod uid -> highest epoch seen
  queue = 8,    // gateway: pod uid -> its place in the queue after a failed attempt
};

struct Record {
  Table table = Table::meta;
  std::string key;
  std::string value;
  int phase = 0;  // rows only: as last given to begin() or advance()
};

// The same while a store is read: the texts are the store's, and gone after the visit.
struct RecordView {
  Table table = Table::meta;
  std::string_view key;
  std::string_view value;
  int phase = 0;
};

// Keys have at most 4096 bytes, phases are 0 to 255: anything else ends the program, before it is written.
class Store {
 public:
  virtual ~Store() = default;
  using Visit = std::function<Status(const RecordView&)>;
  // Shows everything durable, in (table, key) order, until the visitor answers an error, which is returned. Called
  // once, first. An error of its own means that the store cannot be read.
  virtual Status read(const Visit& visit) = 0;
  // The same as a list.
  Result<std::vector<Record>> load() {
    std::vector<Record> records;
    const Status status = read([&records](const RecordView& record) {
      records.push_back({record.table, std::string(record.key), std::string(record.value), record.phase});
      return Status::ok();
    });
    if (!status.is_success()) return status;
    return records;
  }
  virtual void put(Table table, const std::string& key, const std::string& value) = 0;
  // Unknown keys are ignored. Never refused: space is held back.
  virtual void erase(Table table, const std::string& key) = 0;
  // Position that the next staged change will take. Positions only grow, across restarts too; those of changes that
  // were never committed may be taken again. An epoch's counter is the position of its row's begin record.
  virtual std::uint64_t next_position() const = 0;
  // Success while new objects should be accepted; else Code::unschedulable "store is full: ...", a reason for their
  // owner. put() itself is never refused: what it lacks then is a failed commit.
  virtual Status capacity() = 0;
  // Stages a new row. May answer Code::unschedulable "store is full ..."; nothing is staged then.
  virtual Status begin(const std::string& key, const std::string& value, int phase) = 0;
  // Stages a row's next phase; the value stays. Never refused: space is held back.
  virtual void advance(const std::string& key, int phase) = 0;
  // Makes everything staged durable; nothing staged costs nothing. After an error the outcome is unknown: the
  // program must end and read the store again.
  virtual Status commit() = 0;
};

}  // namespace berth
