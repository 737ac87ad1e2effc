#include "core/cache/pod_kinds.h"

#include <gtest/gtest.h>

#include <map>

#include "core/random.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

namespace {

Pod pod_of(const std::string& name, const std::string& app) {
  Pod pod = make_pod(name);
  pod.metadata.labels["app"] = app;
  return pod;
}

// Pods by app and index of the node, as the kinds tell.
std::map<std::pair<std::string, std::size_t>, std::int64_t> told_by(const PodKinds& kinds) {
  std::map<std::pair<std::string, std::size_t>, std::int64_t> told;
  for (const PodKinds::Kind& kind : kinds.all()) {
    if (kind.pods == 0) continue;
    std::int64_t pods = 0;
    kind.on_nodes.for_each([&](std::size_t index, std::int64_t count) {
      told[{kind.pod->metadata.labels.at("app"), index}] += count;
      pods += count;
    });
    EXPECT_EQ(pods, kind.pods);
  }
  return told;
}

std::map<std::pair<std::string, std::size_t>, std::int64_t> counted(const Snapshot& snapshot) {
  std::map<std::pair<std::string, std::size_t>, std::int64_t> all;
  for (std::size_t index = 0; index < snapshot.nodes().size(); ++index) {
    for (const auto& pod : snapshot.nodes()[index]->pods) ++all[{pod->metadata.labels.at("app"), index}];
  }
  return all;
}

TEST(PodKinds, AreEqualInNamespaceLabelsAffinityAndDeletion) {
  Cache cache;
  cache.set_node(share(make_node("n0")));
  Snapshot snapshot;
  const auto place = [&](Pod pod) { cache.confirm(share(std::move(pod)), "n0"); };
  place(pod_of("a", "web"));
  Pod alike = pod_of("b", "web");
  alike.priority = 7;
  alike.spec.edit().containers[0].image = "other";
  place(alike);
  cache.update_snapshot(snapshot);
  const auto kinds = [&] {
    std::size_t used = 0;
    for (const auto& kind : snapshot.pod_kinds().all()) used += kind.pods > 0 ? 1 : 0;
    return used;
  };
  EXPECT_EQ(kinds(), 1u);
  Pod elsewhere = pod_of("c", "web");
  elsewhere.metadata.namespace_ = "other";
  place(elsewhere);
  Pod going = pod_of("d", "web");
  going.metadata.deleting = true;
  place(going);
  Pod near = pod_of("e", "web");
  near.affinity->pod_affinity.required.emplace_back();
  place(near);
  place(pod_of("f", "db"));
  cache.update_snapshot(snapshot);
  EXPECT_EQ(kinds(), 5u);
}

TEST(PodKinds, AreTheSameWhenTheyWereCountedInPartsWhilePodsAndNodesCameAndWent) {
  Random random{9};
  Cache cache;
  Snapshot snapshot;
  std::size_t pods = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string node = "n" + std::to_string(random.below(140));
    const std::uint64_t deed = random.below(8);
    if (deed == 0 && cache.node_count() > 110) cache.remove_node(node);
    if (deed == 1 || i < 300) cache.set_node(share(make_node(node)));
    if (deed > 1 && deed < 6) {
      cache.confirm(share(pod_of("p" + std::to_string(++pods), "app" + std::to_string(random.below(3)))), node);
    }
    if (deed >= 6 && pods > 0) cache.remove("uid-p" + std::to_string(1 + random.below(pods)));
    if (random.chance(1, 2)) cache.prepare(snapshot, {{}, true}, 10);
    if (random.chance(1, 2)) cache.update_snapshot(snapshot);
    if (random.chance(1, 40)) {
      cache.update_snapshot(snapshot);
      ASSERT_EQ(told_by(snapshot.pod_kinds()), counted(snapshot)) << i;
    }
  }
}

TEST(PodKinds, AChangeTellsWhatCameAndWhatLeftAlsoWhenItsKindIsGone) {
  Cache cache;
  cache.set_node(share(make_node("n0")));
  const auto first = share(pod_of("a", "web"));
  cache.confirm(first, "n0");
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  static_cast<void>(snapshot.pod_kinds());
  cache.remove(first->uid());
  cache.confirm(share(pod_of("b", "db")), "n0");
  cache.update_snapshot(snapshot);
  const auto changes = snapshot.pod_changes().last(snapshot.pod_changes().size());
  std::map<std::string, std::int32_t> by_app;
  for (const auto& each : changes) by_app[each.pod->metadata.labels.at("app")] = each.pods;
  EXPECT_EQ(by_app, (std::map<std::string, std::int32_t>{{"db", 1}, {"web", -1}}));
}

// Nodes come and go, pods come, go and change, and the snapshot is numbered afresh now and then.
TEST(PodKinds, CountWhatIsOnTheNodesWhateverChanges) {
  Random random(1);
  Cache cache;
  Snapshot snapshot;
  std::vector<PodPtr> pods;
  const auto node = [&] { return "n" + std::to_string(random.below(160)); };
  const auto app = [&] { return "app-" + std::to_string(random.below(5)); };
  for (int i = 0; i < 140; ++i) cache.set_node(share(make_node("n" + std::to_string(i))));
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t what = random.below(20);
    if (what == 0) cache.remove_node(node());
    if (what == 1) cache.set_node(share(make_node(node())));
    if (what > 1 && what < 12) {
      pods.push_back(share(pod_of("p-" + std::to_string(i), app())));
      cache.confirm(pods.back(), node());
    }
    if (what >= 12 && what < 17 && !pods.empty()) {
      const std::size_t at = random.below(pods.size());
      cache.remove(pods[at]->uid());
      pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (what >= 17 && !pods.empty()) {
      auto& pod = pods[random.below(pods.size())];
      pod = share(pod_of(pod->metadata.name, app()));
      cache.update(pod);
    }
    if (!random.chance(1, 3)) continue;
    cache.update_snapshot(snapshot);
    ASSERT_EQ(told_by(snapshot.pod_kinds()), counted(snapshot)) << i;
  }
}

}  // namespace

}  // namespace berth
