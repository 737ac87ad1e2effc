// What in-tree plugins declare that Filter and Score read holds, and a declaration of less would not: the same pod is
// judged on the same node before and after everything has changed that the declaration leaves out.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/fastpath/both_ways.h"

namespace berth {

namespace {

constexpr std::size_t kNodes = 8;

class DeclarationsTest : public BothWays {
 protected:
  using Judgements = std::map<std::string, std::string>;  // by "Filter <plugin>" and "Score <plugin>"
  using Declared = std::map<std::string, Reads>;          // likewise

  void SetUp() override {
    BothWays::SetUp();
    nodes = kNodes;
    asks_features = true;
    for (std::size_t i = 0; i < nodes; ++i) cache.set_node(share(node("node-" + std::to_string(i))));
    for (int i = 0; i < 10; ++i) place_on(node_name());
  }

  void place_on(const std::string& node) { place(share(pod()), node); }

  Judgements judge(const Pod& pod, const std::string& on) {
    cache.update_snapshot(handle.snapshot_of_test);
    const Snapshot& snapshot = handle.snapshot_of_test;
    const NodeInfo& node = *snapshot.find(on);
    Judgements found;
    CycleState state;
    PreFilterResult narrowed;
    if (!framework->run_pre_filter(state, pod, snapshot, narrowed).is_success()) return found;
    for (const auto& entry : framework->filters()) {
      if (state.skip_filter.test(entry.number)) continue;
      found["Filter " + std::string(entry.name)] = entry.plugin->filter(state, pod, node).message();
    }
    if (!framework->run_pre_score(state, pod, snapshot.nodes()).is_success()) return found;
    for (const auto& entry : framework->scores()) {
      std::int64_t score = 0;
      if (state.skip_score.test(entry.number) || !entry.plugin->score(state, pod, node, score).is_success()) continue;
      found["Score " + std::string(entry.name)] = std::to_string(score);
    }
    return found;
  }

  Declared declared(const Pod& pod) const {
    Declared found;
    for (const auto& entry : framework->filters()) {
      found["Filter " + std::string(entry.name)] = entry.plugin->reads(pod, Point::filter);
    }
    for (const auto& entry : framework->scores()) {
      found["Score " + std::string(entry.name)] = entry.plugin->reads(pod, Point::score);
    }
    return found;
  }

  // Whether the plugin says that nodes may have traits of their own for the pod, and whether one has.
  static std::pair<bool, bool> traits_of(SummingPlugin& plugin, const Pod& asked, const Snapshot& snapshot) {
    CycleState state;
    Domains domains;
    plugin.begin_sums(state, asked, snapshot, domains);
    for (const auto& info : snapshot.nodes()) {
      for (const auto& other : info->pods) {
        if (plugin.counts_pod(state, asked, *other)) plugin.sum_pods(state, asked, *info->node, *other, 1, domains);
      }
    }
    domains.follow(snapshot);
    Traits traits;
    for (const auto& info : snapshot.nodes()) plugin.add_traits(state, asked, *info, domains, traits);
    return {plugin.has_traits(state, domains),
            std::any_of(traits.begin(), traits.end(), [](auto each) { return each != 0; })};
  }

  // All but what `reads` names of that node.
  void change_all_but(Reads reads, const std::string& on) {
    for (int i = 0; i < 12; ++i) {
      const std::string other = node_name();
      if (other == on) {
        if (reads == Reads::node_object) change_pods_of(on);
        continue;
      }
      if (random.chance(1, 3)) cache.set_node(share(node(other)));
      if (reads != Reads::node_and_images && random.chance(1, 4)) cache.remove_node(other);
      change_pods_of(other);
    }
    for (int i = 0; i < 4; ++i) change_objects();
  }

  void change_pods_of(const std::string& on) {
    const auto mine =
        std::find_if(placed.begin(), placed.end(), [&](const auto& each) { return cache.node_of(each->uid()) == on; });
    if (mine != placed.end() && random.chance(1, 2)) {
      cache.remove((*mine)->uid());
      placed.erase(mine);
    } else if (placed.size() < 2 * nodes) {
      place_on(on);
    }
    if (random.chance(1, 4)) cache.charge(on, "gone/1", to_resources(resources({{"cpu", "500m"}})));
    if (random.chance(1, 4)) cache.discharge(on, "gone/1");
  }

  // Which judgements changed though nothing did that `reads` names, with what they were declared to read.
  std::map<std::string, Reads> refuted(Reads reads) {
    const Pod asked = pod();
    const std::string on = node_name();
    if (cache.find(on) == nullptr || cache.find(on)->node == nullptr) cache.set_node(share(node(on)));
    const Judgements before = judge(asked, on);
    const Declared of_pod = declared(asked);
    change_all_but(reads, on);
    const Judgements after = judge(asked, on);
    std::map<std::string, Reads> found;
    for (const auto& [point, judgement] : before) {
      const auto now = after.find(point);
      if (now != after.end() && now->second != judgement) found.emplace(point, of_pod.at(point));
    }
    return found;
  }

  // How often each judgement refuted each declaration that it reads so.
  std::map<std::pair<std::string, Reads>, int> refutations_of(Reads reads, int times) {
    std::map<std::pair<std::string, Reads>, int> found;
    for (int i = 0; i < times && !HasFatalFailure(); ++i) {
      for (const auto& each : refuted(reads)) ++found[each];
    }
    return found;
  }

  // Nothing that declares so may be refuted; what declares more has to be, or this test sees nothing.
  void check(Reads reads, const std::vector<std::string>& which_read_more) {
    auto found = refutations_of(reads, 800);
    for (const auto& [judgement, times] : found) {
      EXPECT_NE(judgement.second, reads) << judgement.first << ", refuted " << times << " times";
    }
    for (const std::string& point : which_read_more) {
      const bool is_refuted =
          std::any_of(found.begin(), found.end(), [&point](const auto& each) { return each.first.first == point; });
      EXPECT_TRUE(is_refuted) << point << " could declare as little";
    }
  }
};

// filter_kinds() is asked first, so it may leave out no kind that counts_pod() is true for. One that lets all pass
// would hold as well, so it has to leave out some.
TEST_F(DeclarationsTest, NoKindOfPodsThatCountsIsLeftOut) {
  classes = 40;
  std::map<std::string, int> counted, left_out;
  for (int i = 0; i < 400; ++i) {
    const Pod asked = pod();
    if (placed.size() < 40) place_on(node_name());
    change_placed_pod();
    cache.update_snapshot(handle.snapshot_of_test);
    const Snapshot& snapshot = handle.snapshot_of_test;
    for (const auto& entry : framework->pre_filters()) {
      if (entry.summing == nullptr) continue;
      CycleState state;
      Domains domains;
      entry.summing->begin_sums(state, asked, snapshot, domains);
      KindFilter filter;
      entry.summing->filter_kinds(state, asked, filter);
      for (const PodKinds::Kind& kind : snapshot.pod_kinds().all()) {
        if (kind.pods == 0) continue;
        const bool counts = entry.summing->counts_pod(state, asked, *kind.pod);
        counted[std::string(entry.name)] += counts ? 1 : 0;
        left_out[std::string(entry.name)] += filter.passes(kind) ? 0 : 1;
        ASSERT_TRUE(filter.passes(kind) || !counts) << entry.name << " counts " << kind.pod->metadata.name;
      }
    }
  }
  for (const char* plugin : {"PodTopologySpread", "InterPodAffinity"}) {
    EXPECT_GT(counted[plugin], 50) << plugin;
    EXPECT_GT(left_out[plugin], 1000) << plugin;
  }
}

// A class without traits shares what is kept about nodes with others, so no node of it may have any.
TEST_F(DeclarationsTest, NoNodeHasTraitsWhereAPluginSaysSo) {
  classes = 40;
  std::map<std::string, int> without, with;
  for (int i = 0; i < 400; ++i) {
    const Pod asked = pod();
    if (placed.size() < 40) place_on(node_name());
    change_placed_pod();
    cache.update_snapshot(handle.snapshot_of_test);
    for (const auto& entry : framework->pre_filters()) {
      if (entry.summing == nullptr) continue;
      const auto [has_traits, any_trait] = traits_of(*entry.summing, asked, handle.snapshot_of_test);
      ASSERT_TRUE(has_traits || !any_trait) << entry.name;
      ++(has_traits ? with : without)[std::string(entry.name)];
    }
  }
  for (const char* plugin : {"PodTopologySpread", "InterPodAffinity"}) {
    EXPECT_GT(without[plugin], 50) << plugin;
    EXPECT_GT(with[plugin], 20) << plugin;
  }
}

TEST_F(DeclarationsTest, OfTheNodesObjectHoldAndPluginsThatReadItsPodsCouldNotMakeThem) {
  check(Reads::node_object, {"Filter NodePorts", "Filter NodeResourcesFit", "Score NodeResourcesFit",
                             "Score NodeResourcesBalancedAllocation", "Filter PodTopologySpread",
                             "Filter InterPodAffinity", "Score PodTopologySpread", "Score InterPodAffinity"});
}

TEST_F(DeclarationsTest, OfTheNodeHoldAndPluginsThatReadOthersCouldNotMakeThem) {
  check(Reads::node, {"Filter PodTopologySpread", "Filter InterPodAffinity", "Score PodTopologySpread",
                      "Score InterPodAffinity", "Score ImageLocality", "Filter VolumeBinding"});
}

TEST_F(DeclarationsTest, OfTheNodeAndImagesHoldAndPluginsThatReadPodsOfOthersCouldNotMakeThem) {
  check(Reads::node_and_images,
        {"Filter PodTopologySpread", "Filter InterPodAffinity", "Score PodTopologySpread", "Score InterPodAffinity"});
}

// As tells_apart() says; of the pods that it tells apart some have to be judged differently.
TEST_F(DeclarationsTest, OfPodsThatArePutTogetherHoldAndTheOthersAreTold) {
  std::map<std::string, int> different;
  for (int i = 0; i < 400; ++i) {
    const Pod a = pod();
    const Pod b = pod();
    const std::string on = node_name();
    cache.set_node(share(node(on)));
    const Judgements of_a = judge(a, on);
    const Judgements of_b = judge(b, on);
    const auto compare = [&](const std::string& point, const auto& entry) {
      if (!of_a.contains(point) || !of_b.contains(point) || of_a.at(point) == of_b.at(point)) return;
      EXPECT_TRUE(entry.plugin->tells_apart(a, b)) << point << ": " << of_a.at(point) << " / " << of_b.at(point);
      ++different[point];
    };
    for (const auto& entry : framework->filters()) compare("Filter " + std::string(entry.name), entry);
    for (const auto& entry : framework->scores()) compare("Score " + std::string(entry.name), entry);
  }
  for (const char* point : {"Filter NodeCapabilities", "Filter TaintToleration", "Filter NodeResourcesFit",
                            "Score NodeResourcesFit", "Score NodeResourcesBalancedAllocation", "Score ImageLocality"}) {
    EXPECT_GT(different[point], 0) << point;
  }
}

}  // namespace

}  // namespace berth
