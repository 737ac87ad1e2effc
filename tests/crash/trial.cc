#include "tests/crash/trial.h"

#include <fstream>
#include <iterator>

#include "core/check.h"

namespace berth::crash {

namespace {

bool equal(const std::vector<Record>& got, const MemoryStore& model) {
  const Contents& contents = model.durable();
  if (got.size() != contents.size()) return false;
  auto expected = contents.begin();
  for (const Record& record : got) {
    if (record.table != expected->first.first || record.key != expected->first.second) return false;
    if (record.value != expected->second.value || record.phase != expected->second.phase) return false;
    ++expected;
  }
  return true;
}

std::string difference(const std::vector<Record>& got, const MemoryStore& expected) {
  std::string text =
      "expected " + std::to_string(expected.durable().size()) + " records, got " + std::to_string(got.size());
  for (const Record& record : got) {
    const auto found = expected.durable().find({record.table, record.key});
    if (found == expected.durable().end()) return text + "; unexpected record " + record.key;
    if (found->second != Content{record.value, record.phase}) return text + "; record " + record.key + " differs";
  }
  return text;
}

// Opens what is left and compares it with the promise. The store must also keep working, and keep what it acknowledges.
std::string check(const SqliteStore::Options& options, Disk disk, const Promise& promise) {
  mount(disk);
  Session session(options, promise.acknowledged);
  if (!session.open()) return "the store cannot be opened again: " + session.failure();
  if (!session.store().lost_commits().empty()) return "called damage: " + session.store().lost_commits();
  MemoryStore held = promise.acknowledged;
  if (!equal(session.loaded(), held)) {
    if (!promise.possible || !equal(session.loaded(), *promise.possible)) {
      return "the store contains neither the acknowledged state nor that plus the last commit: " +
             difference(session.loaded(), held);
    }
    held = *promise.possible;
  }
  if (session.store().next_position() < held.next_position()) return "a position would be reused";
  SqliteStore& store = session.store();
  store.put(Table::meta, "probe", "1");
  if (const Status committed = store.commit(); !committed.is_success()) {
    return "the store cannot commit after the recovery: " + committed.message();
  }
  held.put(Table::meta, "probe", "1");
  static_cast<void>(held.commit());
  Disk later = disk.after_power_cut(Fate::dropped, 0);
  session.close();
  mount(later);
  Session last(options);
  if (!last.open()) return "after a second power cut the store cannot be opened: " + last.failure();
  if (equal(last.loaded(), held)) return {};
  return "a second power cut loses acknowledged data: " + difference(last.loaded(), held);
}

bool is_full_fault(Fault::Kind kind) { return kind == Fault::Kind::full_once || kind == Fault::Kind::full_always; }

// Space is reserved for started bindings, and no restart is needed once space is free again.
std::string check_full(Session& session, Disk& disk) {
  if (!session.failure().empty()) return "a commit failed on a full disk: " + session.failure();
  disk.free_space();
  if (!session.is_open()) return {};
  const Status capacity = session.store().capacity();
  return capacity.is_success() ? "" : "the store is still full after space was freed: " + capacity.message();
}

// Uses the file as it is; its contents are what a migration without faults reads from it.
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
  if (!kind.opens && !session.open())
    return {false, "the store cannot be opened before any fault: " + session.failure()};
  if (trial.lies) disk.lie_about_syncs();
  disk.arm(trial.disk);
  arm_memory(trial.memory);
  kind.act(session);
  Outcome outcome;
  outcome.fired = disk.fired() || memory_fault_fired();
  if (session.blamed_file()) outcome.violation = "a transient fault was taken for damage: " + session.failure();
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
