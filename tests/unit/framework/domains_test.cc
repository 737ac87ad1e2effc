#include "core/framework/domains.h"
#include "core/api/node.h"

#include <gtest/gtest.h>

#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

namespace {

constexpr const char* kZone = "zone";
constexpr const char* kHost = "kubernetes.io/hostname";

class DomainsTest : public ::testing::Test {
 protected:
  void set(const std::string& name, const std::string& zone) {
    Node node = make_node(name);
    node.metadata.labels[kZone] = zone;
    cache.set_node(share(std::move(node)));
    cache.update_snapshot(snapshot);
  }
  std::int64_t number_of(const char* key, const std::string& node) {
    return domains.find(key)->number_of(snapshot.index_of(node));
  }
  Cache cache;
  Snapshot snapshot;
  Domains domains;
};

TEST_F(DomainsTest, NumberNodesByTheirValues) {
  set("n0", "a");
  set("n1", "a");
  set("n2", "b");
  cache.set_node(share(make_node("n3")));
  cache.update_snapshot(snapshot);
  domains.watch(kZone);
  domains.watch(kHost);
  EXPECT_FALSE(domains.follow(snapshot)) << "new keys";
  EXPECT_TRUE(domains.follow(snapshot));
  EXPECT_FALSE(domains.is_per_node(kZone));
  EXPECT_TRUE(domains.is_per_node(kHost));
  EXPECT_EQ(number_of(kZone, "n1"), number_of(kZone, "n0"));
  EXPECT_NE(number_of(kZone, "n2"), number_of(kZone, "n0"));
  EXPECT_EQ(number_of(kZone, "n3"), Domains::kNone);
  EXPECT_EQ(domains.find("rack"), nullptr) << "not watched";
  EXPECT_FALSE(domains.is_per_node("rack"));
}

TEST_F(DomainsTest, AreOutdatedWhenAUniqueValueBecomesShared) {
  set("n0", "a");
  set("n1", "b");
  domains.watch(kZone);
  domains.follow(snapshot);
  EXPECT_TRUE(domains.is_per_node(kZone));
  set("n1", "c");
  EXPECT_TRUE(domains.follow(snapshot)) << "still one node each";
  set("n1", "a");
  EXPECT_FALSE(domains.follow(snapshot));
  EXPECT_FALSE(domains.is_per_node(kZone));
  EXPECT_TRUE(domains.follow(snapshot));
}

TEST_F(DomainsTest, TheEmptyValueIsNeverOneNodesAlone) {
  set("n0", "a");
  set("n1", "");
  domains.watch(kZone);
  domains.follow(snapshot);
  EXPECT_FALSE(domains.is_per_node(kZone)) << "nodes without the label are counted with it";
}

TEST_F(DomainsTest, AreOutdatedWhenTheNodesAreNumberedAfresh) {
  set("n0", "a");
  set("n1", "a");
  domains.watch(kZone);
  domains.follow(snapshot);
  EXPECT_TRUE(domains.follow(snapshot));
  set("n2", "b");
  EXPECT_FALSE(domains.follow(snapshot)) << "so small a fleet is put in order at each change";
}

}  // namespace

}  // namespace berth
