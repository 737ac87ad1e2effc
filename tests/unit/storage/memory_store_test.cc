// The store for tests and simulations: what survives a power cut, a failed commit and a wipe.
#include "storage/memory_store.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::string value_of(MemoryStore& store, Table table, const std::string& key) {
  const std::vector<Record> records = store.load().value();
  for (const Record& record : records) {
    if (record.table == table && record.key == key) return record.value;
  }
  return "none";
}

TEST(MemoryStore, LosesUncommittedChangesInACrash) {
  MemoryStore store;
  store.put(Table::meta, "term", "1");
  ASSERT_TRUE(store.commit().is_success());
  store.put(Table::meta, "term", "2");
  store.crash();
  ASSERT_TRUE(store.commit().is_success());
  EXPECT_EQ(value_of(store, Table::meta, "term"), "1");
}

TEST(MemoryStore, LoadsInTableAndKeyOrder) {
  MemoryStore store;
  store.put(Table::slot, "a", "3");
  store.put(Table::object, "b", "2");
  store.put(Table::object, "a", "1");
  ASSERT_TRUE(store.commit().is_success());
  std::string order;
  const std::vector<Record> records = store.load().value();
  for (const Record& record : records) order += record.value;
  EXPECT_EQ(order, "123");
}

TEST(MemoryStore, KeepsTheValueWhenAPhaseAdvancesAndThePhaseWhenAValueIsPut) {
  MemoryStore store;
  ASSERT_TRUE(store.begin("uid", "row", 1).is_success());
  store.advance("uid", 2);
  store.put(Table::row, "uid", "changed");
  store.advance("unknown", 3);
  store.erase(Table::row, "unknown");
  ASSERT_TRUE(store.commit().is_success());
  const std::vector<Record> records = store.load().value();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].value, "changed");
  EXPECT_EQ(records[0].phase, 2);
}

TEST(MemoryStore, PositionsGrowOverCommitsAndAreReusedAfterACrash) {
  MemoryStore store;
  EXPECT_EQ(store.next_position(), 1u);
  store.put(Table::meta, "a", "");
  ASSERT_TRUE(store.begin("uid", "row", 1).is_success());
  EXPECT_EQ(store.next_position(), 3u);
  ASSERT_TRUE(store.commit().is_success());
  store.erase(Table::row, "uid");
  EXPECT_EQ(store.next_position(), 4u);
  store.crash();
  EXPECT_EQ(store.next_position(), 3u);
}

TEST(MemoryStore, AFailedCommitIsKeptOrLostAndTheStoreFailsUntilTheCrash) {
  for (const auto outcome : {MemoryStore::Outcome::kept, MemoryStore::Outcome::lost}) {
    MemoryStore store;
    store.fail_next_commit(outcome);
    ASSERT_TRUE(store.commit().is_success()) << "nothing staged cannot fail";
    store.put(Table::meta, "term", "1");
    EXPECT_EQ(store.commit().code(), Code::error);
    EXPECT_EQ(store.commit().code(), Code::error);
    store.crash();
    EXPECT_TRUE(store.commit().is_success());
    const bool kept = outcome == MemoryStore::Outcome::kept;
    EXPECT_EQ(value_of(store, Table::meta, "term"), kept ? "1" : "none");
    EXPECT_EQ(store.next_position(), kept ? 2u : 1u);
  }
}

TEST(MemoryStore, RefusesOnlyNewRowsWhileFull) {
  MemoryStore store;
  ASSERT_TRUE(store.begin("old", "row", 1).is_success());
  store.set_full(true);
  const Status refused = store.begin("new", "row", 1);
  EXPECT_EQ(refused.code(), Code::unschedulable);
  EXPECT_TRUE(refused.message().starts_with("store is full")) << refused.message();
  store.advance("old", 2);
  ASSERT_TRUE(store.commit().is_success());
  EXPECT_EQ(store.load().value().size(), 1u);
}

TEST(MemoryStore, StagesNothingThatAStoreOnFlashCouldNotReadBack) {
  MemoryStore store;
  EXPECT_DEATH(store.put(Table::object, std::string(kKeyMax + 1, 'k'), "v"), "CHECK failed");
  EXPECT_DEATH(store.advance("r", kPhaseMax + 1), "CHECK failed");
  store.put(Table::object, std::string(kKeyMax, 'k'), "v");
  EXPECT_TRUE(store.begin("r", "v", kPhaseMax).is_success());
  EXPECT_TRUE(store.commit().is_success());
}

TEST(MemoryStore, CountsOnlyCommitsWithChanges) {
  MemoryStore store;
  ASSERT_TRUE(store.commit().is_success());
  EXPECT_EQ(store.commits(), 0u);
  store.put(Table::meta, "a", "");
  store.put(Table::meta, "b", "");
  ASSERT_TRUE(store.commit().is_success());
  EXPECT_EQ(store.commits(), 1u);
  EXPECT_EQ(store.changes(), 2u);
}

TEST(MemoryStore, IsEmptyAfterAWipe) {
  MemoryStore store;
  store.put(Table::meta, "a", "");
  ASSERT_TRUE(store.commit().is_success());
  MemoryStore backup = store;
  store.wipe();
  EXPECT_TRUE(store.load().value().empty());
  EXPECT_EQ(store.next_position(), 1u);
  EXPECT_EQ(value_of(backup, Table::meta, "a"), "");
}

}  // namespace
}  // namespace berth
