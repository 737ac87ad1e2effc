// Store interface: the durable state of a gateway or an agent. Changes are staged and become durable together in
// commit(), called once per turn of the loop (core/turn.h). Inside it is an append-only journal in position order,
// which is compacted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/status.h"

namespace berth {

enum class Table : std::uint8_t {
  meta = 1,     // both sides: term, store id, incarnation, floor, ...
  object = 2,   // gateway: "<kind>/<ns>/<name>" -> JSON
  row = 3,      // gateway: pod uid -> binding row; has a phase
  release = 4,  // gateway: "<node>/<uid>/<epoch>" -> release-list entry
  node = 5,     // gateway: node name -> incarnation and what is known about it
  slot = 6,     // agent: pod uid -> slot
  high = 7,     // agent: pod uid -> highest epoch seen
  queue = 8,    // gateway: pod uid -> its queue position after a failed attempt; "event/<number>" -> an event
};

struct Record {
  Table table = Table::meta;
  std::string key;
  std::string value;
  int phase = 0;  // rows only: as last given to begin() or advance()
};

// A record while the store is read; the views are valid during the visit only.
struct RecordView {
  Table table = Table::meta;
  std::string_view key;
  std::string_view value;
  int phase = 0;
};

// Keys have at most 4096 bytes, phases are 0 to 255: anything else fails a CHECK before it is written.
class Store {
 public:
  virtual ~Store() = default;
  using Visit = std::function<Status(const RecordView&)>;
  // Visits all durable records until the visitor returns an error, which is passed on: first those of Table::object and
  // then those of Table::row, which may be many, each in an order of the store's own; then the others in (table, key)
  // order. Called once, before anything else. Any other error means that the store cannot be read.
  virtual Status read(const Visit& visit) = 0;
  // The same, as a list in (table, key) order.
  Result<std::vector<Record>> load() {
    std::vector<Record> records;
    const Status status = read([&records](const RecordView& record) {
      records.push_back({record.table, std::string(record.key), std::string(record.value), record.phase});
      return Status::ok();
    });
    if (!status.is_success()) return status;
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return std::tie(a.table, a.key) < std::tie(b.table, b.key); });
    return records;
  }
  virtual void put(Table table, const std::string& key, const std::string& value) = 0;
  // Unknown keys are ignored. Never refused: space is reserved for it.
  virtual void erase(Table table, const std::string& key) = 0;
  // The position that the next staged change will get. Positions only grow, across restarts too; those of changes that
  // were never committed may be taken again. An epoch's counter is the position of its row's begin record.
  virtual std::uint64_t next_position() const = 0;
  // Success while new objects should be accepted; else Code::unschedulable "store is full: ...", a reason for the
  // user. put() itself is never refused: if space runs out, commit() fails.
  virtual Status capacity() = 0;
  // Stages a new row. May return Code::unschedulable "store is full ..."; then nothing is staged.
  virtual Status begin(const std::string& key, const std::string& value, int phase) = 0;
  // Stages a row's next phase; its value is kept. Never refused: space is reserved for it.
  virtual void advance(const std::string& key, int phase) = 0;
  // Makes everything staged durable; a no-op when nothing is staged. After an error the outcome is unknown: the
  // program must exit and read the store again.
  virtual Status commit() = 0;
};

}  // namespace berth
