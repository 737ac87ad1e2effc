#include "core/framework/domains.h"
#include "core/api/node.h"

#include <gtest/gtest.h>

#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

namespace {

constexpr const char* kZone = "zone";
constexpr const char* kHost = "kubernetes.io/hostname";

Node in_zone(const std::string& name, const std::string& zone) {
  Node node = make_node(name);
  node.metadata.labels[kZone] = zone;
  return node;
}

TEST(Domains, NumberNodesByTheirValues) {
  Cache cache;
  for (const auto& [name, zone] : {std::pair{"n0", "a"}, {"n1", "a"}, {"n2", "b"}}) {
    cache.set_node(share(in_zone(name, zone)));
  }
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  Domains domains;
  domains.watch(kZone);
  EXPECT_TRUE(domains.is_stale()) << "a new key";
  domains.watch(kHost);
  domains.recount(snapshot);
  EXPECT_FALSE(domains.is_stale());
  EXPECT_FALSE(domains.is_per_node(kZone));
  EXPECT_TRUE(domains.is_per_node(kHost));
  const std::int64_t a = domains.number_of(kZone, in_zone("n0", "a"));
  EXPECT_EQ(domains.number_of(kZone, in_zone("n1", "a")), a);
  EXPECT_NE(domains.number_of(kZone, in_zone("n2", "b")), a);
  EXPECT_EQ(domains.number_of(kZone, make_node("n3")), Domains::kNone);
  EXPECT_EQ(domains.number_of("rack", in_zone("n0", "a")), Domains::kNone) << "not watched";
}

TEST(Domains, AreStaleWhenAUniqueValueBecomesShared) {
  Domains domains;
  domains.watch(kHost);
  domains.recount(Snapshot());
  domains.count(make_node("n0"), 1);
  domains.count(make_node("n1"), 1);
  EXPECT_FALSE(domains.is_stale());
  EXPECT_TRUE(domains.is_per_node(kHost));
  domains.count(make_node("n1"), 1);
  EXPECT_TRUE(domains.is_stale());
  EXPECT_FALSE(domains.is_per_node(kHost));
}

}  // namespace

}  // namespace berth
