#include "core/objects/workloads.h"

#include <gtest/gtest.h>

#include "core/objects/objects.h"
#include "storage/memory_store.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

Json replica_set(int replicas) {
  return parsed_json(R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","namespace":"shop",
    "uid":"u1"},"spec":{"replicas":)" +
                     std::to_string(replicas) + R"(,"selector":{"matchLabels":{"a":"b"}},"template":{}}})");
}

TEST(Workloads, SurviveARestartWithTheirStatus) {
  MemoryStore store;
  Objects before(store);
  ASSERT_TRUE(before.workloads().put(Kind::replica_set, replica_set(3), parsed_json(R"({"replicas":2})")).is_success());
  ASSERT_TRUE(store.commit().is_success());
  Objects after(store);
  ASSERT_TRUE(store.read([&after](const RecordView& record) { return after.load(record); }).is_success());
  const Workloads::Entry* entry = after.workloads().find(Kind::replica_set, "shop/web");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->manifest, replica_set(3));
  EXPECT_EQ(entry->status, parsed_json(R"({"replicas":2})"));
  EXPECT_EQ(after.manifest(Kind::replica_set, "shop/web"), replica_set(3)) << "the mirror has no status";
  EXPECT_EQ(after.keys(Kind::replica_set), std::vector<std::string>{"shop/web"});
}

TEST(Workloads, TellWhatChanged) {
  MemoryStore store;
  Workloads workloads(store);
  std::string told;
  workloads.observe([&told](const ObjectPtr& before, const ObjectPtr& after) {
    told += before == nullptr ? "new" : after == nullptr ? "gone" : "changed";
    told += " ";
  });
  ASSERT_TRUE(workloads.put(Kind::replica_set, replica_set(1), {}).is_success());
  ASSERT_TRUE(workloads.put(Kind::replica_set, replica_set(2), {}).is_success());
  workloads.erase(Kind::replica_set, "shop/web");
  workloads.erase(Kind::replica_set, "shop/web");
  EXPECT_EQ(told, "new changed gone ");
  EXPECT_TRUE(workloads.empty());
}

TEST(Workloads, AreLeftAsTheyWereByWhatCannotBeDecoded) {
  MemoryStore store;
  Workloads workloads(store);
  ASSERT_TRUE(workloads.put(Kind::replica_set, replica_set(1), {}).is_success());
  Json wrong = replica_set(1);
  wrong.find("spec")->set("replicas", "many");
  EXPECT_FALSE(workloads.put(Kind::replica_set, std::move(wrong), {}).is_success());
  EXPECT_EQ(workloads.find(Kind::replica_set, "shop/web")->manifest, replica_set(1));
}

}  // namespace
}  // namespace berth
