// Where nodes stand in a snapshot of a large fleet, while some come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/random.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

using Kind = Snapshot::ObjectChange::Kind;

Resources resources_of(const std::string& cpu) { return to_resources(resources({{"cpu", cpu}})); }

class CacheOrder : public ::testing::Test {
 protected:
  void add(const std::string& name, std::uint64_t zone = 0) {
    Node node = make_node(name, std::to_string(1 + random.below(8)));
    node.metadata.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(zone);
    node.unschedulable = random.chance(1, 5);
    if (random.chance(1, 3)) node.taints.push_back({"reserved", "yes", TaintEffect::no_schedule});
    cache.set_node(share(std::move(node)));
    names.insert(name);
  }
  void take(const std::string& name) {
    cache.remove_node(name);
    names.erase(name);
  }
  void fill(int nodes) {
    for (int i = 0; i < nodes; ++i) add("n" + std::to_string(i), static_cast<std::uint64_t>(i % 3));
    cache.update_snapshot(snapshot);
    note_seen();
  }
  std::vector<std::string> order() const {
    std::vector<std::string> all;
    for (const auto& node : snapshot.nodes()) all.push_back(node->name());
    return all;
  }
  // The order that a snapshot has from the beginning.
  std::vector<std::string> order_anew() const {
    Snapshot fresh;
    cache.update_snapshot(fresh);
    std::vector<std::string> all;
    for (const auto& node : fresh.nodes()) all.push_back(node->name());
    return all;
  }
  // What the changes make of the nodes that were seen last, and how many of a kind there were.
  std::map<Kind, int> follow() {
    std::map<Kind, int> kinds;
    numbered_anew = !snapshot.changed().reaches(changes_seen);
    if (numbered_anew) seen = std::vector<std::shared_ptr<const NodeInfo>>(snapshot.nodes().size());
    const auto objects =
        snapshot.object_changes().since(numbered_anew ? snapshot.object_changes().made() : objects_seen);
    const auto indices = snapshot.changed().since(numbered_anew ? snapshot.changed().made() : changes_seen);
    auto object = objects.begin();
    std::int64_t made = changes_seen;
    for (const std::uint32_t index : indices) {
      if (object == objects.end() || object->changes_made != made++) {
        ++kinds[Kind::replaced];
        seen[index] = nullptr;
      } else {
        EXPECT_EQ(object->index, index);
        follow_object(*object++, kinds);
      }
    }
    EXPECT_EQ(object, objects.end());
    EXPECT_EQ(seen.size(), snapshot.nodes().size());
    for (std::size_t index = 0; index < seen.size(); ++index) {
      if (seen[index] != nullptr) {
        EXPECT_EQ(seen[index], snapshot.nodes()[index]) << index;
      }
    }
    note_seen();
    return kinds;
  }
  void follow_object(const Snapshot::ObjectChange& change, std::map<Kind, int>& kinds) {
    ++kinds[change.kind];
    switch (change.kind) {
      case Kind::replaced:
        if (seen[change.index] != nullptr) {
          EXPECT_EQ(change.before, seen[change.index]);
        }
        seen[change.index] = nullptr;
        break;
      case Kind::came:
        EXPECT_EQ(change.index, seen.size());
        seen.emplace_back();
        break;
      case Kind::went:
        EXPECT_EQ(change.index, seen.size() - 1);
        EXPECT_EQ(seen.back() == nullptr ? change.before : seen.back(), change.before);
        seen.pop_back();
        break;
    }
  }
  void note_seen() {
    seen = snapshot.nodes();
    changes_seen = snapshot.changed().made();
    objects_seen = snapshot.object_changes().made();
  }
  // Every node is where the snapshot says, in its last state, in the columns too.
  void check() {
    ASSERT_EQ(snapshot.nodes().size(), names.size());
    const NodeColumns& columns = snapshot.columns();
    NodeColumns fresh;
    fresh.build(snapshot.nodes(), snapshot.nodes().size());
    const NodeColumns::Label& zones = snapshot.columns().label("topology.kubernetes.io/zone", snapshot.nodes());
    ASSERT_EQ(columns.size(), names.size());
    std::map<std::string, std::uint32_t> number_of;
    std::size_t tainted = 0;
    std::size_t unschedulable = 0;
    for (const std::string& name : names) {
      const std::size_t index = snapshot.index_of(name);
      ASSERT_LT(index, names.size()) << name;
      EXPECT_EQ(snapshot.nodes()[index].get(), cache.find(name));
      const Node& node = *cache.find(name)->node;
      EXPECT_EQ(columns.tainted().nodes[index], node.taints.empty() ? 0 : 1);
      EXPECT_EQ(columns.unschedulable().nodes[index], node.unschedulable ? 1 : 0);
      tainted += node.taints.empty() ? 0 : 1;
      unschedulable += node.unschedulable ? 1 : 0;
      const auto& cpu = columns.of(NodeColumns::milli_cpu);
      EXPECT_EQ(cpu.allocatable[index], static_cast<double>(cache.find(name)->allocatable.milli_cpu));
      EXPECT_EQ(cpu.requested[index], static_cast<double>(cache.find(name)->requested.milli_cpu));
      const std::string zone = cache.find(name)->node->metadata.labels.at("topology.kubernetes.io/zone");
      EXPECT_EQ(number_of.try_emplace(zone, zones.numbers[index]).first->second, zones.numbers[index]);
    }
    EXPECT_EQ(columns.tainted().count, tainted);
    EXPECT_EQ(columns.unschedulable().count, unschedulable);
    EXPECT_EQ(columns.of(NodeColumns::memory).inexact, fresh.of(NodeColumns::memory).inexact);
    EXPECT_EQ(snapshot.index_of("nobody"), names.size());
  }

  Random random{5};
  Cache cache;
  Snapshot snapshot;
  std::set<std::string> names;
  std::vector<std::shared_ptr<const NodeInfo>> seen;
  std::int64_t changes_seen = 0;
  std::int64_t objects_seen = 0;
  bool numbered_anew = false;  // since then, as follow() found
};

TEST_F(CacheOrder, ColumnsBuiltInPartsFollowNodesThatComeAndGoMeanwhile) {
  fill(800);
  check();  // read once: what changes from now on is followed one by one
  for (int i = 0; i < 100; ++i) add("early" + std::to_string(i), static_cast<std::uint64_t>(i % 3));
  cache.update_snapshot(snapshot);  // numbered afresh
  for (const char* gone : {"n10", "n700"}) {
    EXPECT_TRUE(cache.prepare(snapshot, {}, 100));
    take(gone);
    add(std::string("after-") + gone, 1);
    cache.update_snapshot(snapshot);
  }
  check();
}

TEST_F(CacheOrder, OfALargeFleetIsNotMadeAnewForANodeOrTwo) {
  fill(800);
  take("n10");
  add("new", 1);
  cache.update_snapshot(snapshot);
  EXPECT_EQ(follow(), (std::map<Kind, int>{{Kind::replaced, 1}, {Kind::came, 1}, {Kind::went, 1}}));
  EXPECT_EQ(snapshot.index_of("n799"), 10u) << "the last took the index of the one that went";
  EXPECT_EQ(snapshot.index_of("new"), 799u);
  check();
}

TEST_F(CacheOrder, IsMadeAnewOnceAnEighthCameOrWent) {
  fill(160);
  int made_anew = 0;
  for (int i = 0; i < 50; ++i) {
    add("new-" + std::to_string(i), 2);
    cache.update_snapshot(snapshot);
    static_cast<void>(follow());
    if (!numbered_anew) continue;
    ++made_anew;
    EXPECT_EQ(order(), order_anew());
  }
  EXPECT_EQ(made_anew, 2) << "with the 23rd that came to 160, and the 27th that came to 183";
}

TEST_F(CacheOrder, OfASmallFleetIsAlwaysThatOfTheZonesInTurns) {
  fill(60);
  for (int i = 0; i < 30; ++i) {
    if (random.chance(1, 2)) {
      take(*names.begin());
    } else {
      add("new-" + std::to_string(i), random.below(3));
    }
    cache.update_snapshot(snapshot);
    EXPECT_EQ(order(), order_anew());
    static_cast<void>(follow());
    check();
  }
}

TEST_F(CacheOrder, ANodeThatGoesAndComesBackAtOnceKeepsItsPlace) {
  fill(200);
  take("n7");
  add("n7", 1);
  cache.update_snapshot(snapshot);
  EXPECT_EQ(follow(), (std::map<Kind, int>{{Kind::replaced, 1}}));
  check();
}

// States that no snapshot keeps any more are written over: nothing of them may be left.
TEST_F(CacheOrder, AStateIsWholeWhateverWasInItsPlaceBefore) {
  for (const char* name : {"n0", "n1"}) add(name);
  std::map<std::string, std::pair<PodPtr, std::string>> placed;
  for (int i = 0; i < 2000; ++i) {
    const std::string node = "n" + std::to_string(random.below(2));
    if (random.chance(1, 2) && !placed.empty()) {
      cache.remove(placed.begin()->first);
      placed.erase(placed.begin());
    } else {
      Pod pod = make_pod("p" + std::to_string(i * 7919 % 2003), resources({{"cpu", "100m"}, {"example.com/x", "1"}}));
      if (random.chance(1, 3)) pod.affinity->pod_affinity.required.emplace_back();
      if (random.chance(1, 3)) pod.affinity->pod_anti_affinity.required.emplace_back();
      if (random.chance(1, 3)) pod.spec.edit().containers[0].host_ports.push_back({"", "TCP", 80 + i});
      const auto made = share(std::move(pod));
      ASSERT_TRUE(cache.assume(made, node).is_success());
      placed[made->uid()] = {made, node};
    }
    if (random.chance(1, 9)) cache.charge(node, "gone/" + std::to_string(random.below(4)), resources_of("1"));
    if (random.chance(1, 9)) cache.discharge(node, "gone/" + std::to_string(random.below(4)));
    cache.update_snapshot(snapshot);
  }
  Cache fresh;
  for (const char* name : {"n0", "n1"}) fresh.set_node(cache.find(name)->node);
  for (const char* name : {"n0", "n1"}) {
    for (const auto& pod : cache.find(name)->pods) ASSERT_TRUE(fresh.assume(pod, name).is_success());
    for (const auto& [key, amount] : *cache.find(name)->charges) fresh.charge(name, key, amount);
    const NodeInfo& now = *snapshot.find(name);
    const NodeInfo& wanted = *fresh.find(name);
    EXPECT_EQ(static_cast<std::size_t>(std::count_if(placed.begin(), placed.end(),
                                                     [&](const auto& each) { return each.second.second == name; })),
              now.pods.size());
    EXPECT_EQ(now.pods, wanted.pods);
    EXPECT_EQ(now.pods_with_affinity, wanted.pods_with_affinity);
    EXPECT_EQ(now.pods_with_required_anti_affinity, wanted.pods_with_required_anti_affinity);
    EXPECT_EQ(now.pods_with_host_ports, wanted.pods_with_host_ports);
    EXPECT_EQ(now.requested.milli_cpu, wanted.requested.milli_cpu);
    EXPECT_EQ(now.requested_for_scoring.milli_cpu, wanted.requested_for_scoring.milli_cpu);
    EXPECT_EQ(now.charges.size(), wanted.charges.size());
  }
}

TEST_F(CacheOrder, FollowsWhateverComesAndGoesBetweenTwoSnapshots) {
  fill(130);
  int pods = 0;
  for (int i = 0; i < rounds(3000) && !HasFatalFailure(); ++i) {
    for (std::uint64_t deeds = random.below(6); deeds > 0; --deeds) {
      const std::string name = "n" + std::to_string(random.below(150));
      const std::uint64_t deed = random.below(4);
      if (deed == 0 && names.size() > 105) take(name);
      if (deed == 1) add(name, random.below(3));
      if (deed > 1 && names.contains(name)) {
        ASSERT_TRUE(
            cache.assume(share(make_pod("p" + std::to_string(++pods), resources({{"cpu", "1"}}))), name).is_success());
        if (random.chance(3, 4)) cache.remove("uid-p" + std::to_string(pods));
      }
    }
    if (random.chance(1, 3)) continue;
    cache.update_snapshot(snapshot);
    static_cast<void>(follow());
    check();
  }
}

TEST_F(CacheOrder, IsPreparedInPartsUntilNobodyHasToLookAtEachNode) {
  const std::vector<std::string> keys = {"kubernetes.io/hostname", "topology.kubernetes.io/zone"};
  for (int i = 0; i < 300; ++i) add("n" + std::to_string(i), static_cast<std::uint64_t>(i % 3));
  int parts = 0;
  std::size_t values = 0;
  while (cache.prepare(snapshot, {keys, true}, 100)) {
    ++parts;
    EXPECT_EQ(snapshot.nodes().size(), 300u) << "they are numbered first";
    EXPECT_EQ(snapshot.generation() < 0, parts < 2) << "then their states";
    const std::size_t now = parts < 3 ? 0 : snapshot.columns().kept_values();
    EXPECT_LE(now, values + 100);
    values = now;
  }
  EXPECT_EQ(values, 303u) << "of both labels";
  EXPECT_EQ(parts, 1 + 1 + 1 + 3 + 3 + 3) << "order, states, amounts, kinds of pods, and two labels";
  cache.update_snapshot(snapshot);
  EXPECT_EQ(order(), order_anew());
  check();
}

TEST_F(CacheOrder, IsTheSameWhenItWasPreparedMeanwhile) {
  const std::vector<std::string> keys = {"topology.kubernetes.io/zone", "kubernetes.io/hostname"};
  Snapshot unprepared;
  fill(130);
  cache.update_snapshot(unprepared);
  for (int i = 0; i < rounds(1500) && !HasFatalFailure(); ++i) {
    for (std::uint64_t deeds = random.below(12); deeds > 0; --deeds) {
      const std::string name = "n" + std::to_string(random.below(170));
      if (random.chance(1, 2) && names.size() > 105) {
        take(name);
      } else {
        add(name, random.below(3));
      }
      for (std::uint64_t parts = random.below(3); parts > 0; --parts) cache.prepare(snapshot, {keys, true}, 16);
    }
    if (random.chance(1, 2)) continue;
    cache.update_snapshot(snapshot);
    cache.update_snapshot(unprepared);
    ASSERT_TRUE(std::equal(snapshot.nodes().begin(), snapshot.nodes().end(), unprepared.nodes().begin(),
                           unprepared.nodes().end()));
    check();
  }
}

}  // namespace
}  // namespace berth
