#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/random.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

PodPtr cpu_pod(const std::string& name, const std::string& cpu) {
  return share(make_pod(name, resources({{"cpu", cpu}})));
}

std::int64_t cpu_on(const Cache& cache, const std::string& node) { return cache.find(node)->requested.milli_cpu; }

TEST(Cache, CountsAnAssumedPodAtOnce) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n1").is_success());
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  EXPECT_TRUE(cache.is_assumed("uid-p"));
  EXPECT_EQ(cache.node_of("uid-p"), "n1");
  EXPECT_EQ(cache.assumed_count(), 1u);
}

TEST(Cache, CountsForEachPodWhatItsOwnSpecAsks) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  constexpr int kWorkloads = 50;  // more than the cache remembers
  std::vector<Pod> of_workload;
  for (int i = 1; i <= kWorkloads; ++i) {
    of_workload.push_back(make_pod("p", resources({{"cpu", std::to_string(i)}})));
  }
  for (int replica = 0; replica < 3; ++replica) {
    for (int i = 1; i <= kWorkloads; ++i) {
      Pod pod = of_workload[static_cast<std::size_t>(i) - 1];  // they share its spec
      pod.metadata.uid = std::to_string(i) + "-" + std::to_string(replica);
      if (replica == 2) pod.spec.edit().containers.edit().front().requests = resources({{"cpu", "100"}});
      const std::int64_t before = cpu_on(cache, "n1");
      ASSERT_TRUE(cache.assume(share(pod), "n1").is_success());
      EXPECT_EQ(cpu_on(cache, "n1") - before, 1000 * (replica == 2 ? 100 : i));
    }
  }
  for (int i = 1; i <= kWorkloads; ++i) {
    const std::int64_t before = cpu_on(cache, "n1");
    cache.remove(std::to_string(i) + "-0");
    EXPECT_EQ(before - cpu_on(cache, "n1"), 1000 * i);
  }
}

void expect_current(const Cache& cache, const Snapshot& snapshot) {
  ASSERT_EQ(snapshot.nodes().size(), cache.node_count());
  for (const auto& node : snapshot.nodes()) {
    ASSERT_NE(cache.find(node->name()), nullptr);
    EXPECT_EQ(node.get(), cache.find(node->name())) << node->name();
  }
}

TEST(Cache, ASnapshotSeesEveryChangeHoweverFarItIsBehind) {
  Cache cache;
  Random random(5);
  const auto name = [&random] { return "n" + std::to_string(random.below(30)); };
  Snapshot often;
  Snapshot seldom;
  for (int i = 0; i < 4000; ++i) {
    if (random.chance(1, 8)) cache.set_node(share(make_node(name(), random.chance(1, 2) ? "4" : "8")));
    if (random.chance(1, 16)) cache.remove_node(name());
    const std::string pod = "p" + std::to_string(random.below(50));
    if (random.chance(1, 2)) {
      cache.confirm(cpu_pod(pod, "1"), name());
    } else {
      cache.remove("uid-" + pod);
    }
    if (random.chance(1, 3)) {
      cache.update_snapshot(often);
      expect_current(cache, often);
      often.columns();
    }
    if (random.chance(1, 150)) {
      cache.update_snapshot(seldom);
      expect_current(cache, seldom);
    }
  }
}

TEST(Cache, PlacesAPodWhereItIsToldWhateverWasExpected) {
  Cache cache;
  for (const char* name : {"n1", "n2"}) cache.set_node(share(make_node(name)));
  cache.expect(*cache.find("n1"));
  ASSERT_TRUE(cache.assume(cpu_pod("a", "1"), "n2").is_success());
  ASSERT_TRUE(cache.assume(cpu_pod("b", "1"), "n1").is_success());
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  EXPECT_EQ(cpu_on(cache, "n2"), 1000);
  // The node goes; its place is another's then.
  cache.remove("uid-b");
  cache.remove_node("n1");
  cache.set_node(share(make_node("n3")));
  ASSERT_TRUE(cache.assume(cpu_pod("c", "1"), "n1").is_success());
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  EXPECT_EQ(cpu_on(cache, "n3"), 0);
}

// A reader that looks ahead may name a node by a state that it still has.
TEST(Cache, ExpectsANodeThatWentWithoutTakingItsPlaceForAnother) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  cache.remove_node("n1");
  cache.expect(*snapshot.nodes().front());
  ASSERT_TRUE(cache.assume(cpu_pod("a", "1"), "n2").is_success());
  EXPECT_EQ(cpu_on(cache, "n2"), 1000);
  EXPECT_EQ(cache.find("n1"), nullptr);
}

TEST(Cache, RefusesToAssumeAKnownPod) {
  Cache cache;
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n1").is_success());
  const Status again = cache.assume(cpu_pod("p", "1"), "n2");
  EXPECT_EQ(again.code(), Code::error);
  EXPECT_EQ(again.message(), "pod default/p is already counted on node n1");
  EXPECT_EQ(cache.find("n2"), nullptr);
}

TEST(Cache, ForgetsOnlyAssumedPods) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n1").is_success());
  cache.confirm(cpu_pod("q", "1"), "n1");
  cache.forget("uid-p");
  cache.forget("uid-q");
  cache.forget("uid-unknown");
  EXPECT_FALSE(cache.node_of("uid-p"));
  EXPECT_TRUE(cache.node_of("uid-q"));
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
}

TEST(Cache, ConfirmKeepsTheCountAndMovesAPodThatIsElsewhere) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  cache.set_node(share(make_node("n2")));
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n1").is_success());
  cache.confirm(cpu_pod("p", "1"), "n1");
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  EXPECT_FALSE(cache.is_assumed("uid-p"));
  cache.confirm(cpu_pod("p", "1"), "n2");
  EXPECT_EQ(cpu_on(cache, "n1"), 0);
  EXPECT_EQ(cpu_on(cache, "n2"), 1000);
  EXPECT_EQ(cache.pod_count(), 1u);
}

TEST(Cache, KeepsAGhostNodeUntilItsPodsAndChargesAreGone) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  cache.confirm(cpu_pod("p", "1"), "n1");
  cache.charge("n1", "uid-x/1.1", to_resources(resources({{"cpu", "2"}})));
  cache.remove_node("n1");
  EXPECT_EQ(cache.node_count(), 0u);
  EXPECT_EQ(cpu_on(cache, "n1"), 3000);
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  EXPECT_TRUE(snapshot.nodes().empty());
  cache.remove("uid-p");
  ASSERT_NE(cache.find("n1"), nullptr);
  cache.discharge("n1", "uid-x/1.1");
  EXPECT_EQ(cache.find("n1"), nullptr);
}

TEST(Cache, AGhostKeepsItsPodsWhenTheNodeComesBack) {
  Cache cache;
  cache.confirm(cpu_pod("p", "1"), "n1");
  cache.set_node(share(make_node("n1")));
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  EXPECT_EQ(cache.find("n1")->allocatable.milli_cpu, 4000);
}

TEST(Cache, ChargesCountOnceByKey) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  cache.charge("n1", "k", to_resources(resources({{"cpu", "2"}})));
  cache.charge("n1", "k", to_resources(resources({{"cpu", "1"}})));
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  cache.discharge("n1", "k");
  cache.discharge("n1", "k");
  EXPECT_EQ(cpu_on(cache, "n1"), 0);
  EXPECT_EQ(cache.find("n1")->requested, Resources());
}

TEST(Cache, UpdateChangesThePodInItsPlace) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  ASSERT_TRUE(cache.assume(cpu_pod("p", "2"), "n1").is_success());
  cache.update(cpu_pod("p", "1"));
  cache.update(cpu_pod("unknown", "1"));
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  EXPECT_TRUE(cache.is_assumed("uid-p"));
}

TEST(Cache, TheOnlyPodOfAGhostStaysThereWhenItChanges) {
  Cache cache;
  cache.confirm(cpu_pod("p", "2"), "n1");
  cache.update(cpu_pod("p", "1"));
  EXPECT_EQ(cpu_on(cache, "n1"), 1000);
  EXPECT_EQ(cache.node_of("uid-p"), "n1");
}

TEST(Cache, CountsRightWhoeverComesAndGoes) {
  Cache cache;
  std::map<std::string, std::string> want;  // node by pod
  Random random(3);
  for (int step = 0; step < 5000; ++step) {
    const std::string name = "p" + std::to_string(random.below(40));
    const std::string node = "n" + std::to_string(random.below(12));
    if (random.below(3) == 0) {
      cache.remove("uid-" + name);
      want.erase(name);
    } else {
      cache.confirm(cpu_pod(name, "1"), node);
      want[name] = node;
    }
    if (random.below(20) == 0) cache.set_node(share(make_node(node)));
    if (random.below(20) == 0) cache.remove_node(node);
  }
  std::map<std::string, std::int64_t> cpu;
  for (const auto& [name, node] : want) {
    EXPECT_EQ(cache.node_of("uid-" + name), node);
    cpu[node] += 1000;
  }
  EXPECT_EQ(cache.pod_count(), want.size());
  for (const auto& [node, milli] : cpu) EXPECT_EQ(cpu_on(cache, node), milli) << node;
}

TEST(Snapshot, ListsNodesInTheOrderOfAddition) {
  Cache cache;
  for (const char* name : {"n2", "n10", "n1"}) cache.set_node(share(make_node(name)));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  std::vector<std::string> names;
  for (const auto& node : snapshot.nodes()) names.push_back(node->name());
  EXPECT_EQ(names, (std::vector<std::string>{"n2", "n10", "n1"}));
  EXPECT_EQ(snapshot.find("n10")->name(), "n10");
  EXPECT_EQ(snapshot.find("n3"), nullptr);
}

TEST(Snapshot, TakesZonesInTurns) {
  Cache cache;
  auto add = [&cache](const char* name, const char* zone) {
    Node node = make_node(name);
    if (*zone != '\0') node.metadata.labels["topology.kubernetes.io/zone"] = zone;
    cache.set_node(share(node));
  };
  Snapshot snapshot;
  auto names = [&] {
    cache.update_snapshot(snapshot);
    std::string text;
    for (const auto& node : snapshot.nodes()) text += node->name();
    return text;
  };
  for (const char* name : {"a", "b", "c"}) add(name, "east");
  add("d", "west");
  add("e", "");
  add("f", "west");
  EXPECT_EQ(names(), "adebfc");
  add("a", "west");
  EXPECT_EQ(names(), "bdecfa") << "a node that moved is the last of its zone";
  cache.remove_node("e");
  add("e", "");
  EXPECT_EQ(names(), "bdecfa") << "its zone was empty and started again";
}

TEST(Snapshot, NeverSeesALaterChange) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n1").is_success());
  EXPECT_EQ(snapshot.find("n1")->requested.milli_cpu, 0);
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.find("n1")->requested.milli_cpu, 1000);
}

TEST(Snapshot, TakesOverOnlyWhatChanged) {
  Cache cache;
  for (const char* name : {"n1", "n2", "n3"}) cache.set_node(share(make_node(name)));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  const std::vector<std::shared_ptr<const NodeInfo>> before = snapshot.nodes();
  cache.confirm(cpu_pod("p", "1"), "n2");
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.nodes()[0], before[0]);
  EXPECT_NE(snapshot.nodes()[1], before[1]);
  EXPECT_EQ(snapshot.nodes()[2], before[2]);
}

TEST(Snapshot, CountsTheNodesOfAnImageAndTakesTheSizeOfTheFirst) {
  Cache cache;
  Snapshot snapshot;
  const auto report = [&](const std::string& node, std::vector<ContainerImage> images) {
    Node reported = make_node(node);
    reported.images = std::move(images);
    cache.set_node(share(std::move(reported)));
    cache.update_snapshot(snapshot);
  };
  const auto image = [&snapshot](const std::string& node, std::size_t at = 0) {
    return snapshot.find(node)->images[at];
  };
  report("n1", {{{"a:1", "a@sha256:1"}, 100}, {{"a:1"}, 300}});
  EXPECT_EQ(snapshot.find("n1")->images.size(), 3u) << "one for each name";
  report("n2", {{{"a:1"}, 200}});
  EXPECT_EQ(image("n2").nodes, 2) << "once for each node";
  EXPECT_EQ(image("n2").size_bytes, 100);
  EXPECT_EQ(image("n1").nodes, 1) << "n1 has not changed";
  report("n1", {{{"a:1"}, 150}});
  EXPECT_EQ(image("n1").size_bytes, 100) << "n2 had it meanwhile";
  EXPECT_EQ(image("n1").nodes, 2);
  cache.remove_node("n2");
  report("n1", {{{"a:1"}, 170}});
  EXPECT_EQ(image("n1").size_bytes, 170) << "nobody else had it meanwhile";
  EXPECT_EQ(image("n1").nodes, 1);
  EXPECT_TRUE(snapshot.has_images());
  report("n1", {});
  EXPECT_TRUE(snapshot.find("n1")->images.empty());
  EXPECT_FALSE(snapshot.has_images());
}

TEST(Snapshot, OfAnotherTimeLeavesTheCountsOfImagesThatOneHasAlready) {
  Cache cache;
  Snapshot first, second;
  const auto report = [&](const std::string& node) {
    Node reported = make_node(node);
    reported.images = {{{"a:1"}, 100}};
    cache.set_node(share(std::move(reported)));
  };
  report("n1");
  cache.update_snapshot(first);
  report("n2");
  cache.update_snapshot(second);
  EXPECT_EQ(first.find("n1")->images[0].nodes, 1);
  EXPECT_EQ(second.find("n1")->images[0].nodes, 1) << "as the other one has it";
  EXPECT_EQ(second.find("n2")->images[0].nodes, 2);
}

TEST(Snapshot, FollowsNodesThatComeAndGo) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  cache.set_node(share(make_node("n0")));
  cache.remove_node("n1");
  cache.update_snapshot(snapshot);
  ASSERT_EQ(snapshot.nodes().size(), 1u);
  EXPECT_EQ(snapshot.nodes()[0]->name(), "n0");
}

TEST(Snapshot, TellsWhichNodesWereReplacedAndWhereTheyWent) {
  Cache cache;
  for (const char* name : {"n0", "n1", "n2"}) cache.set_node(share(make_node(name)));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  const std::int64_t before = snapshot.changed().made();
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n1").is_success());
  cache.update_snapshot(snapshot);
  ASSERT_EQ(snapshot.changed().made(), before + 1);
  EXPECT_EQ(snapshot.changed().last(1).front(), snapshot.index_of("n1"));
  EXPECT_EQ(snapshot.object_changes().size(), 0u) << "a state that nobody reads takes memory";
  EXPECT_EQ(snapshot.nodes()[1]->requested.milli_cpu, 1000);
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.changed().made(), before + 1) << "nothing changed";

  cache.remove_node("n0");
  cache.set_node(share(make_node("n3")));
  cache.update_snapshot(snapshot);
  EXPECT_GT(snapshot.changed().made(), before + 1);
  EXPECT_EQ(snapshot.changed().size(), 0u) << "the nodes are numbered afresh: nobody can follow by index";
}

// How many changes a snapshot of so many nodes keeps, of more than it would.
std::size_t changes_kept(int nodes) {
  Cache cache;
  for (int i = 0; i < nodes; ++i) cache.set_node(share(make_node("n" + std::to_string(i))));
  Snapshot snapshot;
  for (int i = 0; i < std::min(nodes / 2, 4096) + 100; ++i) {
    cache.charge("n0", "gone/" + std::to_string(i), {});
    cache.update_snapshot(snapshot);
  }
  return snapshot.changed().size();
}

TEST(Snapshot, KeepsChangesForHalfOfItsNodes) {
  EXPECT_EQ(changes_kept(400), 200u);
  EXPECT_EQ(changes_kept(1), 64u) << "never so few that each change costs a look at all nodes";
  EXPECT_EQ(changes_kept(5000), 2500u);
  EXPECT_EQ(changes_kept(10'000), 4096u);
}

TEST(Snapshot, TellsWhichChangesAreOfNodesTheirObjects) {
  Cache cache;
  for (int i = 0; i < 200; ++i) cache.set_node(share(make_node("n" + std::to_string(i))));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  const std::int64_t before = snapshot.object_changes().made();
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n1").is_success());
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.object_changes().made(), before) << "a pod is no news of its node";
  cache.set_node(share(make_node("n2", "7")));
  cache.update_snapshot(snapshot);
  ASSERT_EQ(snapshot.object_changes().made(), before + 1);
  EXPECT_EQ(snapshot.object_changes().last(1).front().index, snapshot.index_of("n2"));
  cache.remove_node("n3");
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.object_changes().made(), before + 3) << "the last node took its index, and the last index went";
}

TEST(Snapshot, KeepsANodesStateBeforeItsObjectChangedForAsLongAsChangesAreKept) {
  Cache cache;
  for (int i = 0; i < 8; ++i) cache.set_node(share(make_node("n" + std::to_string(i))));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  const std::weak_ptr<const NodeInfo> before = snapshot.nodes()[snapshot.index_of("n2")];
  cache.set_node(share(make_node("n2", "7")));
  cache.update_snapshot(snapshot);
  for (std::size_t i = 1; i < snapshot.changes_kept(); ++i) {
    cache.charge("n0", "gone/" + std::to_string(i), {});
    cache.update_snapshot(snapshot);
  }
  EXPECT_EQ(snapshot.object_changes().last(1).front().before, before.lock());
  EXPECT_FALSE(before.expired());
  cache.charge("n0", "gone/last", {});
  cache.update_snapshot(snapshot);
  EXPECT_TRUE(before.expired()) << "nobody can follow from before the change";
  EXPECT_EQ(snapshot.object_changes().last(1).front().index, snapshot.index_of("n2")) << "the change itself is kept";
}

TEST(Recent, KeepsTheLastElementsAndCountsAll) {
  Recent<int> recent;
  for (int i = 0; i < 100; ++i) {
    recent.add(i, 7);
    const std::size_t kept = std::min<std::size_t>(static_cast<std::size_t>(i) + 1, 7);
    ASSERT_EQ(recent.size(), kept);
    ASSERT_EQ(recent.made(), i + 1);
    ASSERT_EQ(recent.last(kept).front(), i + 1 - static_cast<int>(kept));
    ASSERT_EQ(recent.since(i).size(), 1u);
    ASSERT_EQ(recent.since(i).front(), i);
    ASSERT_TRUE(recent.reaches(recent.made() - static_cast<std::int64_t>(kept)));
    ASSERT_FALSE(recent.reaches(recent.made() - static_cast<std::int64_t>(kept) - 1));
  }
  recent.add(100, 3);
  EXPECT_EQ(recent.size(), 3u) << "the next one keeps fewer";
  recent.forget();
  EXPECT_EQ(recent.size(), 0u);
  EXPECT_FALSE(recent.reaches(101)) << "who had read all has missed something";
}

TEST(Snapshot, CountsPodsWithAffinity) {
  Cache cache;
  cache.set_node(share(make_node("n0")));
  Snapshot snapshot;
  Pod near = make_pod("near");
  near.affinity->pod_affinity.required.emplace_back();
  ASSERT_TRUE(cache.assume(share(near), "n0").is_success());
  ASSERT_TRUE(cache.assume(cpu_pod("plain", "1"), "n0").is_success());
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.pods_with_affinity(), 1);
  cache.forget("uid-near");
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.pods_with_affinity(), 0);
}

TEST(Snapshot, KnowsTheLowestPriorityOfThePodsOnNodes) {
  Cache cache;
  cache.set_node(share(make_node("n0")));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.lowest_priority(), std::numeric_limits<std::int32_t>::max());
  const auto place = [&](const std::string& name, std::int32_t priority) {
    Pod pod = make_pod(name);
    pod.priority = priority;
    ASSERT_TRUE(cache.assume(share(std::move(pod)), "n0").is_success());
  };
  place("a", 10);
  place("b", -5);
  place("c", -5);
  cache.forget("uid-b");
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.lowest_priority(), -5);
  cache.forget("uid-c");
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.lowest_priority(), 10);
}

TEST(Cache, TellsANodeFromOneThatWentBetweenTwoSnapshots) {
  Cache cache;
  for (const char* name : {"n1", "n2", "n3"}) cache.set_node(share(make_node(name)));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  cache.remove_node("n1");
  cache.remove_node("n2");
  for (const char* name : {"n4", "n2"}) cache.set_node(share(make_node(name, "7")));
  cache.update_snapshot(snapshot);
  ASSERT_EQ(snapshot.nodes().size(), 3u);
  for (const char* name : {"n3", "n4", "n2"}) {
    ASSERT_NE(snapshot.find(name), nullptr) << name;
    EXPECT_EQ(snapshot.find(name)->name(), name);
    EXPECT_EQ(snapshot.find(name)->allocatable.milli_cpu, name == std::string("n3") ? 4000 : 7000) << name;
  }
  EXPECT_EQ(snapshot.find("n1"), nullptr);
}

TEST(Cache, KeepsTheColumnsOfASnapshotInStep) {
  Cache cache;
  for (const char* name : {"n1", "n2"}) cache.set_node(share(make_node(name)));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  const std::size_t index = snapshot.index_of("n2");
  EXPECT_EQ(snapshot.columns().of(NodeColumns::milli_cpu).requested[index], 0);
  ASSERT_TRUE(cache.assume(cpu_pod("p", "1"), "n2").is_success());
  cache.update_snapshot(snapshot);
  const NodeColumns::OfResource& cpu = snapshot.columns().of(NodeColumns::milli_cpu);
  EXPECT_EQ(cpu.requested[index], 1000);
  EXPECT_EQ(cpu.requested_for_scoring[index], 1000);
  EXPECT_EQ(snapshot.columns().full()[index], 0);
  cache.set_node(share(make_node("n2", "4", "8Gi", "1")));
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.columns().full()[index], 1);
}

TEST(Cache, CountsTheNodesWhoseAmountsAColumnDoesNotHoldExactly) {
  Cache cache;
  for (const char* name : {"n1", "n2"}) cache.set_node(share(make_node(name)));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  const NodeColumns::OfResource& memory = snapshot.columns().of(NodeColumns::memory);
  EXPECT_EQ(memory.inexact, 0u);
  for (const char* large : {"64Ti", "65Ti"}) {
    cache.set_node(share(make_node("n2", "4", large)));
    cache.update_snapshot(snapshot);
    EXPECT_EQ(memory.inexact, 1u) << large;
  }
  cache.set_node(share(make_node("n2", "4", "63Ti")));
  cache.update_snapshot(snapshot);
  EXPECT_EQ(memory.inexact, 0u);
}

TEST(Cache, LetsGoOfLabelValuesThatNoNodeHasAnyMore) {
  Cache cache;
  cache.set_node(share(make_node("n1")));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  static_cast<void>(snapshot.columns().label("seen", snapshot.nodes()));
  for (int i = 0; i < 100; ++i) {
    Node node = make_node("n1");
    node.metadata.labels["seen"] = std::to_string(i);
    cache.set_node(share(std::move(node)));
    cache.update_snapshot(snapshot);
    EXPECT_LE(snapshot.columns().kept_values(), 2u) << "a label that changes for ever must not grow for ever";
  }
  const NodeColumns::Label& seen = snapshot.columns().label("seen", snapshot.nodes());
  EXPECT_EQ(seen.values.at("99"), seen.numbers[0]);
}

}  // namespace
}  // namespace berth
