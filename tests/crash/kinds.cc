#include "tests/crash/kinds.h"

#include <string>

#include "core/api/kind.h"
#include "core/random.h"

namespace berth::crash {

namespace {

std::string uid(int number) { return "7c9e6679-7425-40de-944b-e07fc1f9" + std::to_string(1000 + number); }

std::string text(int seed, std::size_t size) {
  Random random(static_cast<std::uint64_t>(seed));
  std::string made;
  while (made.size() < size) made += random.hex_id();
  made.resize(size);
  return made;
}

void some_of_all(Session& session) {
  for (int i = 0; i < 8; ++i) {
    session.put(Table::object, "pods/default/p" + std::to_string(i), text(i, 700));
    session.begin(uid(i), text(100 + i, 250));
    if (i % 2 == 0) session.put(Table::node, "n" + std::to_string(i), text(200 + i, 900));
    if (i % 3 == 0) session.put(Table::release, "n1/" + uid(50 + i) + "/1.7", text(300 + i, 120));
    if (i % 4 == 0) session.put(Table::queue, uid(60 + i), text(350 + i, 90));
    session.commit();
  }
  session.put(Table::meta, "gateway", text(400, 150));
  session.commit();
}

void act_creation(Session& session) {
  if (!session.open()) return;
  session.put(Table::meta, "gateway", text(1, 150));
  session.commit();
}

void act_objects(Session& session) {
  session.put(Table::object, "pods/default/p1", text(11, 900));
  session.erase(Table::object, "pods/default/p2");
  if (!session.commit()) return;
  session.put(Table::object, "pods/default/large", text(12, 20'000));
  session.put(Table::object, "pods/default/p3", "");
  if (!session.commit()) return;
  session.erase(Table::object, "pods/default/large");
  session.erase(Table::object, "pods/default/never-there");
  session.commit();
}

void act_rows(Session& session) {
  for (int i = 20; i < 24; ++i) session.begin(uid(i), text(i, 260));
  if (!session.commit()) return;
  for (int phase = 2; phase < 5; ++phase) {
    for (int i = 20; i < 24; ++i) session.advance(uid(i), phase);
    session.advance(uid(1), phase);
    if (!session.commit()) return;
  }
  for (int i = 20; i < 22; ++i) session.erase(Table::row, uid(i));
  if (!session.commit()) return;
  session.begin(uid(21), text(21, 300));
  session.commit();
}

// Rows that leave prebind early, and answers that end their release entries (P6).
void act_releases(Session& session) {
  for (int i = 0; i < 3; ++i) {
    session.erase(Table::row, uid(i));
    session.put(Table::release, "n2/" + uid(i) + "/1.3", text(30 + i, 130));
    if (!session.commit()) return;
  }
  session.erase(Table::release, "n2/" + uid(0) + "/1.3");
  session.erase(Table::release, "n1/" + uid(50) + "/1.7");
  if (!session.commit()) return;
  session.begin(uid(0), text(40, 250));
  session.commit();
}

void act_epochs(Session& session) {
  for (int term = 2; term < 6; ++term) {
    session.put(Table::meta, "gateway", text(term, 150));
    session.put(Table::meta, "floor", std::to_string(term));
    if (!session.commit()) return;
  }
}

// Queue entries are written together with other records (a failed pod beside a new row), and removed with a row.
void act_queue(Session& session) {
  session.begin(uid(30), text(45, 250));
  session.put(Table::queue, uid(61), text(46, 90));
  session.put(Table::queue, uid(60), text(47, 95));
  if (!session.commit()) return;
  session.advance(uid(30), 3);
  session.erase(Table::queue, uid(60));
  session.erase(Table::queue, uid(30));
  if (!session.commit()) return;
  for (int i = 62; i < 78; ++i) session.put(Table::queue, uid(i), text(48 + i, 90));
  session.commit();
}

void act_slots(Session& session) {
  for (int phase = 0; phase < 3; ++phase) {
    session.put(Table::slot, uid(1), std::to_string(phase) + text(50, 1'200));
    session.put(Table::high, uid(1), "1." + std::to_string(phase));
    if (!session.commit()) return;
  }
  session.erase(Table::slot, uid(1));
  session.commit();
}

void act_fold(Session& session) {
  for (int i = 0; i < 4; ++i) {
    session.put(Table::object, "pods/default/p" + std::to_string(i), text(60 + i, 800));
    session.advance(uid(i), 2);
    session.erase(Table::row, uid(i + 4));
    if (!session.commit()) return;
  }
}

void act_checkpoint(Session& session) {
  for (int i = 0; i < 5; ++i) {
    session.put(Table::object, "pods/default/p" + std::to_string(i), text(70 + i, 6'000));
    if (!session.commit()) return;
  }
}

void act_start(Session& session) {
  if (!session.open()) return;
  session.advance(uid(3), 3);
  session.commit();
}

void act_migration(Session& session) {
  if (!session.open()) return;
  const Record first = session.loaded().front();
  session.erase(first.table, first.key);
  session.put(Table::queue, uid(1), text(81, 90));
  session.commit();
}

void act_end(Session& session) {
  session.put(Table::meta, "gateway", text(80, 150));
  if (session.commit()) session.close();
}

// Small thresholds, so that every point can be tried: what the store does at 1 MiB happens after a few pages here.
constexpr SqliteStore::Options kUsual{64 << 20, 1'000, 1 << 20, 1 << 20, 1 << 20};
constexpr SqliteStore::Options kFolds{64 << 20, 8, 1 << 20, 1 << 20, 1 << 20, 0};
constexpr SqliteStore::Options kMovesLog{64 << 20, 1'000, 1 << 20, 1 << 20, 64 << 10};
constexpr SqliteStore::Options kFoldsAndMoves{64 << 20, 8, 1 << 20, 8'000, 32 << 10, 0};

constexpr Kind kKinds[] = {
    {"creation", kUsual, nullptr, false, true, act_creation},
    {"objects", kUsual, some_of_all, false, false, act_objects},
    {"rows", kUsual, some_of_all, false, false, act_rows},
    {"releases", kUsual, some_of_all, false, false, act_releases},
    {"queue", kUsual, some_of_all, false, false, act_queue},
    {"epochs", kUsual, some_of_all, false, false, act_epochs},
    {"slots", kUsual, some_of_all, false, false, act_slots},
    {"fold", kFolds, some_of_all, false, false, act_fold},
    {"checkpoint", kMovesLog, some_of_all, false, false, act_checkpoint},
    {"fold and checkpoint", kFoldsAndMoves, some_of_all, false, false, act_checkpoint},
    {"start", kUsual, some_of_all, true, true, act_start},
    {"start with a fold", kFolds, some_of_all, true, true, act_start},
    {"end", kUsual, some_of_all, true, false, act_end},
    {"migration", kUsual, nullptr, false, true, act_migration, BERTH_TEST_STORES "/version-1.db"},
    {"migration of version 2", kUsual, nullptr, false, true, act_migration, BERTH_TEST_STORES "/version-2.db"},
};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

}  // namespace berth::crash
