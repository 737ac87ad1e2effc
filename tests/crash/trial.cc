#include "tests/crash/trial.h"

#include <fstream>
#include <iterator>

#include "core/check.h"

namespace berth::crash {

namespace {

bool equal(const std::vector<Record>& got, const MemoryStore& wanted) {
  const Contents& contents = wanted.durable();
  if (got.size() != contents.size()) return false;
  auto expected = contents.begin();
  for (const Record& record : got) {
    if (record.table != expected->first.first || record.key != expected->first.second) return false;
    if (record.value != expected->second.value || record.phase != expected->second.phase) return false;
    ++expected;
  }
  return true;
}

std::string difference(const std::vector<Record>& got, const MemoryStore& wanted) {
  std::string text = std::to_string(got.size()) + " records, " + std::to_string(wanted.durable().size()) + " wanted";
  for (const Record& record : got) {
    const auto found = wanted.durable().find({record.table, record.key});
    if (found == wanted.durable().end()) return text + "; " + record.key + " is there and should not be";
    if (found->second != Content{record.value, record.phase}) return text + "; " + record.key + " differs";
  }
  return text;
}

// Opens what is left and compares it; the store must also work on, and keep what it acknowledges then.
std::string check(const SqliteStore::Options& options, Disk disk, const Promise& promise) {
  mount(disk);
  Session session(options, promise.acknowledged);
  if (!session.open()) return "it cannot be opened again: " + session.failure();
  MemoryStore held = promise.acknowledged;
  if (!equal(session.loaded(), held)) {
    if (!promise.possible || !equal(session.loaded(), *promise.possible)) {
      return "it holds neither what was acknowledged nor that with the last commit: " +
             difference(session.loaded(), held);
    }
    held = *promise.possible;
  }
  if (session.store().next_position() < held.next_position()) return "a position would be used again";
  SqliteStore& store = session.store();
  store.put(Table::meta, "probe", "1");
  if (const Status committed = store.commit(); !committed.is_success()) {
    return "it cannot go on: " + committed.message();
  }
  held.put(Table::meta, "probe", "1");
  static_cast<void>(held.commit());
  Disk later = disk.after_power_cut(Fate::dropped, 0);
  session.close();
  mount(later);
  Session last(options);
  if (!last.open()) return "a power cut after the recovery leaves what cannot be opened: " + last.failure();
  if (equal(last.loaded(), held)) return {};
  return "a power cut after the recovery loses what was acknowledged: " + difference(last.loaded(), held);
}

bool is_full_fault(Fault::Kind kind) { return kind == Fault::Kind::full_once || kind == Fault::Kind::full_always; }

// Space is held back for what is begun, and nothing has to be restarted once there is room.
std::string check_full(Session& session, Disk& disk) {
  if (!session.failure().empty()) return "a commit failed on a full disk: " + session.failure();
  disk.make_room();
  if (!session.is_open()) return {};
  const Status room = session.store().capacity();
  return room.is_success() ? "" : "still full though there is room again: " + room.message();
}

// The file as it is; what it holds is what a migration without faults finds in it.
Stage prepare_older(const Kind& kind) {
  Stage stage;
  std::ifstream source(kind.older, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(source)), std::istreambuf_iterator<char>());
  CHECK(!bytes.empty());
  const Disk::FileRef file = stage.disk.open(kStorePath, true);
  const bool made = stage.disk.write(*file, 0, bytes) == Answer::ok && stage.disk.sync(*file) == Answer::ok &&
                    stage.disk.sync_names() == Answer::ok;
  CHECK(made);
  Disk copy = stage.disk;
  mount(copy);
  Session session(kind.options);
  CHECK(session.open());
  for (const Record& record : session.loaded()) {
    if (record.table == Table::row) {
      CHECK(stage.held.begin(record.key, record.value, record.phase).is_success());
    } else {
      stage.held.put(record.table, record.key, record.value);
    }
  }
  CHECK(stage.held.next_position() <= session.store().next_position());
  while (stage.held.next_position() < session.store().next_position()) stage.held.erase(Table::meta, "never-there");
  CHECK(stage.held.commit().is_success());
  return stage;
}

}  // namespace

Stage prepare(const Kind& kind) {
  Stage stage;
  if (kind.older != nullptr) return prepare_older(kind);
  if (kind.prepare == nullptr) return stage;
  mount(stage.disk);
  Session session(kind.options);
  if (!session.open()) return stage;
  kind.prepare(session);
  stage.held = session.promise().acknowledged;
  if (kind.left_by_power_cut) {
    Disk left = stage.disk.restarted();
    session.close();
    stage.disk = left;
  }
  return stage;
}

Outcome run(const Kind& kind, const Stage& stage, const Trial& trial) {
  Disk disk = stage.disk;
  mount(disk);
  Session session(kind.options, stage.held);
  weaken_synchronous(trial.weak);
  if (!kind.opens && !session.open()) return {false, "it cannot be opened before any fault: " + session.failure()};
  if (trial.lies) disk.lie_about_syncs();
  disk.arm(trial.disk);
  arm_memory(trial.memory);
  kind.act(session);
  Outcome outcome;
  outcome.fired = disk.fired() || memory_fault_fired();
  if (session.blamed_file()) outcome.violation = "a passing fault was taken for damage: " + session.failure();
  if (outcome.violation.empty() && outcome.fired && is_full_fault(trial.disk.kind) && !kind.opens) {
    outcome.violation = check_full(session, disk);
  }
  session.close();
  arm_memory({});
  weaken_synchronous(false);
  if (outcome.violation.empty()) outcome.violation = check(kind.options, disk.restarted(), session.promise());
  return outcome;
}

}  // namespace berth::crash
