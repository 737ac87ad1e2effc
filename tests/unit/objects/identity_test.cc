#include "core/objects/identity.h"

#include <gtest/gtest.h>

#include "storage/memory_store.h"

namespace berth {
namespace {

class IdentityRecordTest : public ::testing::Test {
 protected:
  std::uint64_t commits_of_save() {
    const std::uint64_t before = store.commits();
    record.save();
    EXPECT_TRUE(store.commit().is_success());
    return store.commits() - before;
  }
  // As the next start finds it.
  Identity stored() {
    const std::string& value = store.durable().at({Table::meta, std::string(IdentityRecord::kRecord)}).value;
    return *loaded(value);
  }
  Identity* loaded(const std::string& value) {
    next = std::make_unique<IdentityRecord>(store);
    const Status status = next->load({Table::meta, IdentityRecord::kRecord, value});
    error = status.message();
    return status.is_success() ? &next->keep() : nullptr;
  }

  MemoryStore store;
  IdentityRecord record{store};
  std::unique_ptr<IdentityRecord> next;
  std::string error;
};

TEST_F(IdentityRecordTest, IsReadAsItWasSaved) {
  Identity& identity = record.edit();
  identity.id = {0xfedcba9876543210, "store"};
  identity.adopting = true;
  identity.adopt_nodes = {"n1", "n2"};
  identity.orphans = {"n1/u/1.2"};
  identity.kept = {"n1/u/1.2"};
  identity.late = {"n9"};
  identity.ending = {"n1/v/1.3"};
  identity.retired = {"n3/i"};
  identity.deleted = {"u4"};
  identity.withdrawn = {"u5", "u6"};
  identity.statuses_unread = identity.is_new = identity.awaits_operator = true;
  EXPECT_EQ(commits_of_save(), 1u);
  const Identity read = stored();
  EXPECT_EQ(read.id, identity.id);
  EXPECT_TRUE(read.adopting);
  EXPECT_EQ(read.adopt_nodes, identity.adopt_nodes);
  EXPECT_EQ(read.orphans, identity.orphans);
  EXPECT_EQ(read.kept, identity.kept);
  EXPECT_EQ(read.late, identity.late);
  EXPECT_EQ(read.ending, identity.ending);
  EXPECT_EQ(read.retired, identity.retired);
  EXPECT_EQ(read.deleted, identity.deleted);
  EXPECT_EQ(read.withdrawn, identity.withdrawn);
  EXPECT_TRUE(read.statuses_unread);
  EXPECT_TRUE(read.is_new);
  EXPECT_TRUE(read.awaits_operator);
}

TEST_F(IdentityRecordTest, KeepsAdoptModeWhenNoNodeIsLeft) {
  record.edit().id = {1, "s"};
  record.edit().adopting = true;
  commits_of_save();
  EXPECT_TRUE(stored().adopting);
}

TEST_F(IdentityRecordTest, IsSavedOnlyWhenItChanged) {
  record.edit().id = {1, "s"};
  EXPECT_EQ(commits_of_save(), 1u);
  EXPECT_EQ(commits_of_save(), 0u);
  EXPECT_TRUE(record.insert(&Identity::orphans, "n1/u/1.2"));
  EXPECT_EQ(commits_of_save(), 1u);
  EXPECT_FALSE(record.insert(&Identity::orphans, "n1/u/1.2"));
  EXPECT_FALSE(record.erase(&Identity::orphans, "other"));
  record.keep().adopting = true;
  EXPECT_EQ(commits_of_save(), 0u);
  EXPECT_TRUE(record.erase(&Identity::orphans, "n1/u/1.2"));
  EXPECT_EQ(commits_of_save(), 1u);
}

TEST_F(IdentityRecordTest, NamesTheMemberThatCannotBeRead) {
  for (const char* value : {"", "{}", R"({"term":"1"})", R"({"storeId":"s"})", R"({"term":1,"storeId":"s"})"}) {
    EXPECT_EQ(loaded(value), nullptr) << value;
    EXPECT_EQ(error, "stored meta \"gateway\": term and storeId must be strings");
  }
  EXPECT_EQ(loaded(R"({"term":"x","storeId":"s"})"), nullptr);
  EXPECT_TRUE(error.starts_with("stored meta \"gateway\": term: ")) << error;
}

}  // namespace
}  // namespace berth
