// Views of classes that are prepared in parts, and of pods whose volumes are promised: bugs that a second reader found.
#include <gtest/gtest.h>

#include <string>

#include "core/api/pod.h"
#include "core/fastpath/class_views.h"
#include "core/scheduler/preparation.h"
#include "plugins/volume_claims.h"
#include "tests/unit/fastpath/both_ways.h"

namespace berth {
namespace {

class PreparedViewsTest : public BothWays {
 protected:
  void SetUp() override {
    BothWays::SetUp();
    makes_volumes = true;
    for (const int number : {1, 2, 4, 5}) claim(number, false);
  }
  void node_with_pool(const std::string& name, const char* size) {
    Node node = make_node(name);
    node.volume_pools = std::vector<VolumePool>{{"made", "/made", quantity(size)}};
    cache.set_node(share(node));
    cache.update_snapshot(handle.snapshot_of_test);
  }
  ScheduleResult run(const Pod& pod, CycleState& state, NodeEvaluator* by) {
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    return schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, by);
  }
  bool fits(const Pod& pod, NodeEvaluator* by) {
    CycleState state;
    return run(pod, state, by).status.is_success();
  }
  // The first claim is deleted and made again under its name.
  void expect_to_fit_once_smaller() {
    PersistentVolumeClaim& mine = handle.objects.disks.claims.at("default/claim-1");
    const Pod pod = pod_with_claim(1);
    mine.request = quantity("2Gi");
    EXPECT_FALSE(fits(pod, &views));
    EXPECT_FALSE(fits(pod, nullptr));
    mine.request = quantity("1Gi");
    EXPECT_TRUE(fits(pod, nullptr));
    EXPECT_TRUE(fits(pod, &views));
  }
  ClassViews views{kSchedulingCacheBytes};
};

// prepare() of a view that is dropped by the bound of memory each time.
TEST_F(PreparedViewsTest, PreparationEndsThoughMemoryIsShort) {
  for (int i = 0; i < 1000; ++i) cache.set_node(share(make_node("node-" + std::to_string(i))));
  cache.update_snapshot(handle.snapshot_of_test);
  ClassViews few(1);
  ASSERT_TRUE(fits(make_pod("p", resources({{"cpu", "1"}})), &few));
  const Pod pod = make_pod("q", resources({{"cpu", "1"}, {"example.com/none", "1"}}));
  CycleState unused;
  NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
  const NodeQuery query{*framework, unused, pod, handle.snapshot_of_test, search};
  int parts = 0;
  while (parts < 1000 && few.prepare(query, 100)) ++parts;
  EXPECT_LT(parts, 50) << few.begun();
}

// The claim of the pod that began the view is promised: the view counts it as the asking pod's own.
TEST_F(PreparedViewsTest, APromiseToTheFirstPodOfAClassTakesRoomFromTheOthers) {
  node_with_pool("node-0", "1Gi");
  node_with_pool("node-1", "1Gi");
  const Pod first = pod_with_claim(1);
  const Pod second = pod_with_claim(2);
  CycleState state;
  const ScheduleResult got = run(first, state, &views);
  ASSERT_TRUE(got.status.is_success());
  ASSERT_TRUE(framework->binding().run_reserve(state, first, got.decision.node).is_success());
  CycleState fast_state;
  CycleState plain_state;
  const ScheduleResult fast = run(second, fast_state, &views);
  const ScheduleResult plain = run(second, plain_state, nullptr);
  EXPECT_EQ(fast.decision.node, plain.decision.node);
  EXPECT_EQ(fast.declined, "");
  EXPECT_EQ(fast.decision.feasible, plain.decision.feasible);
}

// A claim with a selected node is deleted and made again, smaller.
TEST_F(PreparedViewsTest, AClaimWithASelectedNodeIsAnotherOnceItIsMadeAgainSmaller) {
  node_with_pool("node-0", "1Gi");
  handle.objects.disks.claims.at("default/claim-1").metadata.annotations[std::string(kSelectedNode)] = "node-0";
  expect_to_fit_once_smaller();
}

// A claim with a reserved volume on a node that is gone, of a class that devices make.
TEST_F(PreparedViewsTest, AClaimWithAReservedVolumeElsewhereIsAnotherOnceItIsMadeAgainSmaller) {
  node_with_pool("node-0", "1Gi");
  PersistentVolume there;
  there.metadata.name = "v";
  there.storage_class_name = "made";
  there.capacity = quantity("4Gi");
  there.claim_ref = "default/claim-1";
  NodeSelectorTerm term;
  term.match_expressions.push_back({"kubernetes.io/hostname", Requirement::Operator::in, {"elsewhere"}});
  there.node_affinity = NodeSelector{{term}};
  handle.objects.put(std::move(there));
  expect_to_fit_once_smaller();
}

// The same of what the gateway calls, and with a volume that changes between any two parts.
class PreparationTest : public PreparedViewsTest {
 protected:
  template <class Between>
  int parts_of(const Pod& pod, NodeEvaluator& evaluator, Between between) {
    Preparation preparation(cache, handle.snapshot_of_test);
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    int parts = 0;
    while (parts < 300 && preparation.prepare(evaluator, *framework, pod, search, {})) between(++parts);
    return parts;
  }
  void SetUp() override {
    PreparedViewsTest::SetUp();
    for (int i = 0; i < 20000; ++i) cache.set_node(share(make_node("node-" + std::to_string(i))));
    cache.update_snapshot(handle.snapshot_of_test);
  }
};
TEST_F(PreparationTest, EndsThoughMemoryIsShort) {
  ClassViews few(1);
  ASSERT_TRUE(fits(make_pod("p", resources({{"cpu", "1"}})), &few));
  EXPECT_LT(parts_of(make_pod("q", resources({{"cpu", "1"}, {"example.com/none", "1"}})), few, [](int) {}), 50);
}
TEST_F(PreparationTest, EndsThoughVolumesChange) {
  const auto change = [&](int part) {
    PersistentVolume any;
    any.metadata.name = "any";
    any.storage_class_name = "made";
    any.phase = "Available";
    any.capacity = quantity(part % 2 == 0 ? "1Gi" : "2Gi");
    handle.objects.put(std::move(any));
  };
  EXPECT_LT(parts_of(pod_with_claim(1), views, change), 50);
}

// The order of nodes does not depend on what was prepared, and when.
TEST_F(PreparedViewsTest, TheOrderOfNodesIsTheSameWhenAViewWasPreparedBefore) {
  const auto put = [&](int i) {
    Node node = make_node("node-" + std::to_string(i));
    node.metadata.labels[kZone] = "zone-" + std::to_string(i < 9000 ? i % 3 : 3);
    cache.set_node(share(node));
  };
  for (int i = 0; i < 9000; ++i) put(i);
  Snapshot prepared;
  Snapshot other;
  Preparation preparation(cache, prepared);
  NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
  const Pod pod = make_pod("q", resources({{"cpu", "1"}}));
  while (preparation.prepare(views, *framework, pod, search, {})) {
  }
  put(9000);
  put(9001);
  EXPECT_FALSE(preparation.prepare(views, *framework, pod, search, {}));
  cache.update_snapshot(prepared);
  cache.update_snapshot(other);
  ASSERT_EQ(prepared.nodes().size(), other.nodes().size());
  for (std::size_t i = 0; i < other.nodes().size(); ++i)
    ASSERT_EQ(prepared.nodes()[i]->name(), other.nodes()[i]->name()) << i;
}

// What a node knows of its images is as of the decisions, not of preparations.
TEST_F(PreparedViewsTest, WhatANodeKnowsOfImagesIsAsOfDecisions) {
  const auto put = [&](int i, bool image) {
    Node node = make_node("node-" + std::to_string(i));
    if (image) node.images.push_back({{"app:1"}, 300'000'000});
    cache.set_node(share(node));
  };
  for (int i = 0; i < 9000; ++i) put(i, false);
  Snapshot& snapshot = handle.snapshot_of_test;
  cache.update_snapshot(snapshot);
  Preparation preparation(cache, snapshot);
  NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
  const Pod pod = make_pod("q", resources({{"cpu", "1"}}));
  put(1, true);
  while (preparation.prepare(views, *framework, pod, search, {})) {
  }
  put(2, true);
  cache.update_snapshot(snapshot);
  EXPECT_EQ(snapshot.find("node-1")->images.get().at(0).nodes, 2);
}

// Two claims that are promised room on a node are not counted twice.
TEST_F(PreparedViewsTest, APodThatSharesTwoPromisedClaimsFits) {
  node_with_pool("node-0", "2Gi");
  const auto with_both = [](const std::string& name) {
    Pod pod = pod_with_claim(1);
    pod.metadata.name = pod.metadata.uid = name;
    pod.volumes.edit().push_back({"more", "claim-2", false, {}});
    return pod;
  };
  const Pod first = with_both("first");
  CycleState state;
  ASSERT_TRUE(run(first, state, nullptr).status.is_success());
  ASSERT_TRUE(framework->binding().run_reserve(state, first, "node-0").is_success());
  EXPECT_TRUE(fits(with_both("second"), nullptr));
}

// A wrong node: what the first pod's claim is promised makes its node look free to the others.
TEST_F(PreparedViewsTest, APromiseToTheFirstPodDoesNotMakeItsNodeLookFreeToTheOthers) {
  const auto put = [&](const std::string& name, int taints, bool ssd) {
    Node node = make_node(name);
    node.volume_pools = std::vector<VolumePool>{{"made", "/made", quantity("1Gi")}};
    for (int i = 0; i < taints; ++i)
      node.taints.push_back({"slow-" + std::to_string(i), "", TaintEffect::prefer_no_schedule});
    if (ssd) node.metadata.labels["disk"] = "ssd";
    cache.set_node(share(node));
  };
  put("node-0", 2, false);
  put("node-1", 1, true);
  put("node-2", 0, false);
  cache.update_snapshot(handle.snapshot_of_test);
  const auto with_affinity = [](Pod pod) {
    NodeSelectorTerm ssd;
    ssd.match_expressions.push_back({"disk", Requirement::Operator::exists, {}});
    pod.affinity->preferred_node_affinity.push_back({5, ssd});
    return pod;
  };
  const Pod first = with_affinity(pod_with_claim(1));
  const Pod second = with_affinity(pod_with_claim(2));
  CycleState by_view;
  CycleState state;
  CycleState fast_state;
  CycleState plain_state;
  run(first, by_view, &views);
  run(first, state, nullptr);
  ASSERT_TRUE(framework->binding().run_reserve(state, first, "node-0").is_success());
  const ScheduleResult fast = run(second, fast_state, &views);
  const ScheduleResult plain = run(second, plain_state, nullptr);
  EXPECT_EQ(fast.declined, "");
  EXPECT_EQ(fast.decision.feasible, plain.decision.feasible);
  EXPECT_EQ(fast.decision.node, plain.decision.node);
}

// An assumption that is over keeps a volume from others while others are assumed.
TEST_F(PreparedViewsTest, AVolumeIsFreeOnceTheClaimItWasAssumedForIsBoundToAnother) {
  AssumedVolumes assumed;
  for (int i = 0; i < 16; ++i)
    assumed.assume("v" + std::to_string(i), "default/claim-" + std::to_string(i), "p" + std::to_string(i));
  assumed.prune(handle.objects);
  PersistentVolumeClaim mine;
  mine.metadata.name = "claim-3";
  mine.metadata.namespace_ = "default";
  mine.volume_name = "another";
  mine.phase = "Bound";
  handle.objects.disks.claims["default/claim-3"] = mine;
  assumed.prune(handle.objects);
  EXPECT_EQ(assumed.claim_of("v3"), "");
}

}  // namespace
}  // namespace berth
