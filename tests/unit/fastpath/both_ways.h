// BothWays: a fleet to which things happen, and pods that are decided about by the plugins and by the fast path: node,
// draw, scores, reasons and preemption have to be the same.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "core/fastpath/fast_path.h"
#include "core/scheduler/scheduling_cycle.h"
#include "plugins/defaultpreemption.h"
#include "plugins/registry.h"
#include "plugins/volumebinding.h"
#include "tests/unit/fastpath/random_fleet.h"
#include "tests/unit/fastpath/test_objects.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

class BothWays : public ::testing::Test, protected RandomFleet {
 protected:
  void SetUp() override {
    make_framework(in_tree_registry(), default_profile());
    StorageClass local;
    local.metadata.name = "local";
    local.provisioner = StorageClass::kNoProvisioner;
    local.wait_for_first_consumer = true;
    handle.objects.disks.classes["local"] = local;
    local.metadata.name = "made";
    local.provisioner = StorageClass::kLocalProvisioner;
    handle.objects.disks.classes["made"] = local;
    for (int i = 0; i < kClaims; ++i) claim(i, false);
  }

  void make_framework(const Registry& registry, const Profile& profile) {
    auto made = Framework::make(registry, profile, handle);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    framework = std::move(*made);
  }

  static Pod pod_with_claim(int number) {
    Pod pod = make_pod("p" + std::to_string(number), resources({{"cpu", "1m"}}));
    PodVolume data;
    data.name = "data";
    data.claim_name = "claim-" + std::to_string(number);
    pod.volumes.edit().push_back(data);
    return pod;
  }

  // Unbound it gets a local volume of some node, bound it has one.
  void claim(int number, bool bound) {
    PersistentVolumeClaim made;
    made.metadata.name = "claim-" + std::to_string(number);
    made.metadata.namespace_ = "default";
    made.storage_class_name = makes_volumes && number % 3 != 0 ? "made" : "local";
    made.request = quantity(number % 4 == 3 ? "3Gi" : "1Gi");
    if (bound) {
      made.volume_name = "volume-" + std::to_string(number);
      made.phase = "Bound";
      made.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    }
    handle.objects.disks.claims["default/" + made.metadata.name] = made;
  }

  // On one host, on several, or reached by its zone; some are meant for one claim.
  void volume(std::uint64_t number, const std::string& node) {
    PersistentVolume made;
    made.metadata.name = "volume-" + std::to_string(number);
    made.storage_class_name = "local";
    made.capacity = quantity(random.chance(1, 2) ? "2Gi" : "4Gi");
    NodeSelectorTerm term;
    term.match_expressions.push_back({"kubernetes.io/hostname", Requirement::Operator::in, {node}});
    if (random.chance(1, 4)) term.match_expressions[0].values.push_back(node_name());
    if (random.chance(1, 16)) term.match_expressions[0] = {kZone, Requirement::Operator::in, {"zone-1"}};
    made.node_affinity = NodeSelector{{term}};
    if (random.chance(1, 8)) made.claim_ref = "default/claim-" + std::to_string(random.below(kClaims));
    made.metadata.deleting = random.chance(1, 16);
    handle.objects.put(std::move(made));
  }

  // What Reserve promised comes true, or is taken back.
  void end_promise() {
    const std::size_t at = random.below(promises.size());
    const auto [pod, bound_volumes] = promises[at];
    promises.erase(promises.begin() + static_cast<std::ptrdiff_t>(at));
    CycleState state;
    if (random.chance(1, 3)) {
      framework->binding().run_unreserve(state, *pod, "");
      return;
    }
    for (const BoundVolume& bound_volume : bound_volumes) {
      const auto free = handle.objects.volume(bound_volume.volume);
      if (free == nullptr || !free->claim_ref.empty()) continue;
      PersistentVolume bound = *free;
      bound.claim_ref = bound_volume.claim;
      bound.phase = "Bound";
      handle.objects.put(std::move(bound));
      PersistentVolumeClaim& mine = handle.objects.disks.claims.at(bound_volume.claim);
      mine.volume_name = bound_volume.volume;
      mine.phase = "Bound";
    }
    framework->binding().run_post_bind(state, *pod, "");
  }

  // Both ways find the same volumes for the pod, and it is promised them.
  void reserve(const PodPtr& asked, const std::string& node, CycleState& plain, CycleState& fast) {
    const PodVolumes* by_plugins = VolumeBinding::decision(plain, node);
    const PodVolumes* from_class = VolumeBinding::decision(fast, node);
    ASSERT_EQ(by_plugins == nullptr, from_class == nullptr);
    if (by_plugins == nullptr) return;
    const auto names = [](const PodVolumes& decision) {
      std::vector<std::string> all;
      for (const BoundVolume& bound_volume : decision.bind)
        all.push_back(bound_volume.claim + " " + bound_volume.volume);
      return all;
    };
    ASSERT_EQ(names(*by_plugins), names(*from_class));
    ASSERT_EQ(by_plugins->provision, from_class->provision);
    if (!framework->binding().run_reserve(fast, *asked, node).is_success()) {
      framework->binding().run_unreserve(fast, *asked, node);
    } else if (!from_class->provision.empty()) {
      to_make.emplace_back(asked, from_class->provision.front(), node);
    } else if (!from_class->bind.empty()) {
      promises.emplace_back(asked, from_class->bind);
      volumes_chosen += 1;
    }
  }

  // A claim that nobody makes a volume for is deleted, mostly with its volume, and made again.
  void begin_claim_again() {
    const int number = static_cast<int>(making.below(kClaims));
    const PersistentVolumeClaim& mine = handle.objects.disks.claims.at("default/claim-" + std::to_string(number));
    const bool is_awaited = std::any_of(to_make.begin(), to_make.end(),
                                        [&mine](const auto& each) { return std::get<1>(each) == mine.metadata.key(); });
    if (is_awaited) return;
    if (mine.volume_name.starts_with("pvc-") && making.chance(3, 4)) handle.objects.remove(mine.volume_name);
    claim(number, false);
  }

  // As reserve() promises it: the device has made a volume, or Reserve is undone.
  void end_making() {
    const auto [pod, claim, node] = to_make.front();
    to_make.erase(to_make.begin());
    CycleState state;
    PersistentVolumeClaim& mine = handle.objects.disks.claims.at(claim);
    if (making.chance(1, 3) || !mine.volume_name.empty()) {
      framework->binding().run_unreserve(state, *pod, "");
      return;
    }
    PersistentVolume made;
    made.metadata.name = "pvc-" + std::to_string(volumes_made++);
    made.metadata.annotations = {{std::string(kProvisionedBy), std::string(StorageClass::kLocalProvisioner)},
                                 {std::string(kOfferedBy), node}};
    made.storage_class_name = "made";
    made.capacity = making.chance(1, 2) ? quantity("4Gi") : mine.request;
    made.claim_ref = claim;
    made.phase = mine.phase = "Bound";
    mine.volume_name = made.metadata.name;
    NodeSelectorTerm term;
    term.match_expressions.push_back({"kubernetes.io/hostname", Requirement::Operator::in, {node}});
    made.node_affinity = NodeSelector{{term}};
    handle.objects.put(std::move(made));
    framework->binding().run_post_bind(state, *pod, "");
  }

  void change_budget() {
    handle.objects.budgets.clear();
    if (random.chance(1, 2)) return;
    PodDisruptionBudget green;
    green.metadata.namespace_ = "default";
    green.selector.emplace().requirements.push_back({"color", Requirement::Operator::in, {"green"}});
    green.disruptions_allowed = static_cast<std::int32_t>(random.below(3));
    handle.objects.budgets.push_back(std::make_shared<const PodDisruptionBudget>(green));
  }

  // The pod waits for the node that was chosen for it; its victims leave, or are about to.
  void preempt(const PodPtr& asked, const ScheduleResult& result) {
    const std::string node = result.nominated_node.value_or("");
    if (node.empty()) return;
    const bool at_once = random.chance(2, 3);
    for (const auto& victim : result.victims) {
      if (at_once) {
        cache.remove(victim->uid());
        continue;
      }
      Pod leaving = *victim;
      leaving.metadata.deleting = true;
      leaving.preempted = true;
      cache.update(share(std::move(leaving)));
    }
    Pod promised = *asked;
    promised.nominated_node_name = node;
    waiting.push_back(share(std::move(promised)));
    handle.nominator_of_test.add(waiting.back(), node);
    preempted += 1;
  }

  PodPtr next_pod() {
    if (waiting.empty() || !random.chance(1, 4)) return share(all_new ? new_pod() : pod());
    const PodPtr next = waiting.front();
    waiting.erase(waiting.begin());
    return next;
  }

  void change_objects() {
    const std::uint64_t what = random.below(8);
    if (what == 0) handle.objects.namespaces["default"].metadata.labels["team"] = random.chance(1, 2) ? "a" : "b";
    if (what == 1) handle.objects.all_services.clear();
    if (what == 2) {
      Service green;
      green.selector["color"] = "green";
      handle.objects.all_services.push_back(std::make_shared<const Service>(green));
    }
    if (what == 3) volume(random.below(2 * kClaims), node_name());
    if (what == 4) claim(static_cast<int>(random.below(kClaims)), random.chance(1, 4));
    if (what == 5 && !promises.empty()) end_promise();
    if (what == 6 && !handle.objects.volumes.empty()) {
      handle.objects.changes.note(handle.objects.volumes.begin()->first);
      handle.objects.volumes.erase(handle.objects.volumes.begin());
    }
    if (what == 7) volume(random.below(2 * kClaims), node_name());
  }

  void change_placed_pod() {
    if (placed.empty()) return;
    PodPtr& old = placed[random.below(placed.size())];
    Pod changed = *old;
    changed.metadata.labels["color"] = random.chance(1, 2) ? "green" : "red";
    changed.metadata.deleting = random.chance(1, 4);
    old = share(std::move(changed));
    cache.update(old);
  }

  void nominate(const std::string& node) {
    const auto promised = share(pod());
    handle.nominator_of_test.add(promised, node);
    nominated.push_back(promised->uid());
  }

  void end_nominations() {
    for (const std::string& uid : nominated) handle.nominator_of_test.remove(uid);
    nominated.clear();
  }

  // What changes no node: others are promised nodes, or no longer, and what protects pods changes.
  virtual void change_promises() {
    if (random.chance(1, 4)) nominate(node_name());
    if (random.chance(1, 8)) end_nominations();
    if (random.chance(1, 10)) change_budget();
  }

  void change_refusals() {
    Refusals& refusals = handle.refusals();
    const std::uint64_t what = random.below(8);
    if (what == 0) refusals.forget(node_name());
    if (what == 1) refusals.end_of_volumes();
    if (what == 2) refusals.end_due(static_cast<Millis>(random.below(40'000)));
    if (what > 2) refusals.note(pod(), node_name(), "reason " + std::to_string(what), 0);
  }

  void change_something() {
    if (refuses && random.chance(1, 2)) change_refusals();
    const std::string name = node_name();
    const std::uint64_t what = random.below(20);
    if (what < 3) cache.set_node(share(node(name)));
    if (what == 3) cache.remove_node(name);
    if (what == 4 && !placed.empty()) {
      cache.remove(placed[random.below(placed.size())]->uid());
    }
    if (what == 5) nominate(name);
    if (what == 6) end_nominations();
    if (what == 7) cache.charge(name, "gone/1", to_resources(resources({{"cpu", "500m"}})));
    if (what == 8) cache.discharge(name, "gone/1");
    if (what == 9 || what > 15) change_objects();
    if (what == 10) change_placed_pod();
  }

  // By the plugins; by a fast path that tells all scores; and by one that only draws, which looks at the fewest nodes.
  void decide_both_ways() {
    const auto asked = next_pod();
    if (handle.refusals().is_refused(*asked)) refused += 1;
    Nominator& nominator = handle.nominator_of_test;
    cache.update_snapshot(handle.snapshot_of_test);
    const std::uint64_t seed = random.next();
    Random plain_random(seed);
    Random fast_random(seed);
    Random drawn_random(seed);
    std::vector<NodeScore> plain_totals;
    std::vector<NodeScore> fast_totals;
    NodeSearch plain_search{&nominator, recording(plain_random, plain_totals), next_start};
    NodeSearch fast_search{&nominator, recording(fast_random, fast_totals), next_start};
    NodeSearch drawn_search{&nominator, {}, next_start, &drawn_random};
    CycleState plain_state;
    CycleState fast_state;
    CycleState drawn_state;
    const Snapshot& snapshot = handle.snapshot_of_test;
    prepare_some(asked);
    const Random drawing = handle.drawing;
    const ScheduleResult plain = schedule_pod(*framework, plain_state, *asked, snapshot, plain_search);
    handle.drawing = drawing;
    const ScheduleResult fast = schedule_pod(*framework, fast_state, *asked, snapshot, fast_search, fast_path.get());
    const ScheduleResult drawn =
        schedule_pod(*framework, drawn_state, *asked, snapshot, drawn_search, drawn_path.get());
    ++declined[drawn.declined];
    next_start = plain_search.next_start;
    ASSERT_EQ(drawn.decision.node, plain.decision.node);
    ASSERT_EQ(drawn_random.next(), plain_random.next());
    ASSERT_EQ(drawn_search.next_start, next_start);
    ASSERT_LE(drawn.decision.feasible, plain.decision.feasible);
    ASSERT_LE(drawn.decision.evaluated, plain.decision.evaluated);
    const bool by_view = drawn.status.is_success() && drawn.decision.totals.empty() && !plain_totals.empty();
    from_view += by_view ? 1 : 0;
    const PodVolumes* volumes = by_view ? VolumeBinding::decision(drawn_state, drawn.decision.node) : nullptr;
    volumes_from_view += volumes != nullptr && !volumes->bind.empty() ? 1 : 0;
    ASSERT_EQ(fast_search.next_start, next_start);
    compare_scores(fast.decision, plain.decision);
    compare(fast_totals, plain_totals);
    ASSERT_EQ(fast.status, plain.status) << fast.status.message() << " / " << plain.status.message();
    if (HasFatalFailure()) return;
    if (!plain.status.is_success()) {
      compare_reasons(drawn.diagnosis, plain.diagnosis);
      compare_reasons(fast.diagnosis, plain.diagnosis);
      ASSERT_EQ(fast.diagnosis.message(), plain.diagnosis.message());
      ASSERT_EQ(fast.nominated_node, plain.nominated_node);
      ASSERT_EQ(fast.victims, plain.victims);
      ASSERT_EQ(weighed(fast_state), weighed(plain_state));
      if (preempts && random.chance(1, 2)) preempt(asked, plain);
      return;
    }
    if (preempts && random.chance(1, 2)) return;
    reserve(asked, plain.decision.node, plain_state, drawn_state);
    place(asked, plain.decision.node);
  }

  // As a gateway does before it decides, but not always to the end, and for pods that others overtake.
  void prepare_some(const PodPtr& asked) {
    if (to_prepare == nullptr || preparing.chance(1, 8)) to_prepare = asked;
    CycleState unused;
    NodeSearch search{&handle.nominator_of_test, {}, 0, &preparing};
    const NodeQuery query{*framework, unused, *to_prepare, handle.snapshot_of_test, search};
    for (std::uint64_t parts = preparing.below(4); parts > 0; --parts) {
      if (drawn_path->prepare(query, 1 + preparing.below(8))) unfinished += 1;
    }
  }

  void place(const PodPtr& pod, const std::string& node) {
    placed.push_back(pod);
    handle.nominator_of_test.remove(pod->uid());
    ASSERT_TRUE(cache.assume(pod, node).is_success());
    cache.confirm(pod, node);
  }

  static void compare(const std::vector<NodeScore>& mine, const std::vector<NodeScore>& theirs) {
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      ASSERT_EQ(mine[i].node, theirs[i].node);
      ASSERT_EQ(mine[i].score, theirs[i].score) << theirs[i].node;
    }
  }

  static void compare_scores(const Decision& mine, const Decision& theirs) {
    ASSERT_EQ(mine.plugin_scores.size(), theirs.plugin_scores.size());
    for (std::size_t i = 0; i < theirs.plugin_scores.size(); ++i) {
      ASSERT_EQ(mine.plugin_scores[i].plugin, theirs.plugin_scores[i].plugin);
      compare(mine.plugin_scores[i].scores, theirs.plugin_scores[i].scores);
    }
    ASSERT_EQ(mine.node, theirs.node);
    ASSERT_EQ(mine.feasible, theirs.feasible);
    ASSERT_EQ(mine.evaluated, theirs.evaluated);
  }

  void compare_reasons(const Diagnosis& mine, const Diagnosis& theirs) const {
    const Snapshot& snapshot = handle.snapshot_of_test;
    ASSERT_EQ(mine.node_statuses.by_name(snapshot), theirs.node_statuses.by_name(snapshot));
    ASSERT_EQ(mine.pending_plugins, theirs.pending_plugins);
    ASSERT_EQ(mine.unschedulable_plugins, theirs.unschedulable_plugins);
  }

  // Every candidate with its victims, and those among which one was drawn.
  static std::vector<std::string> weighed(const CycleState& state) {
    const auto* record = state.read<PreemptionRecord>();
    if (record == nullptr) return {};
    std::vector<std::string> lines = record->ties();
    for (const auto* each : record->candidates()) {
      lines.push_back(each->candidate.node + " " + std::to_string(each->candidate.pdb_violations));
      for (const auto& victim : each->candidate.victims) lines.back() += " " + victim->uid();
    }
    return lines;
  }

  static PickNode recording(Random& from, std::vector<NodeScore>& totals) {
    return [pick = pick_uniformly(from), &totals](const std::vector<NodeScore>& all) {
      totals = all;
      return pick(all);
    };
  }

  // Nodes that go, with their pods or without, come, or come back at once, between two decisions.
  void change_the_fleet() {
    for (std::uint64_t deeds = random.below(4); deeds > 0; --deeds) {
      const std::string name = node_name();
      const bool is_there = cache.find(name) != nullptr && cache.find(name)->node != nullptr;
      if (is_there && random.chance(2, 3)) cache.remove_node(name);
      if (!is_there || random.chance(1, 3)) cache.set_node(share(node(name)));
    }
    const auto& objects = handle.snapshot_of_test.object_changes();
    for (const auto& each : objects.last(objects.size())) {
      last_changes += each.kind == Snapshot::ObjectChange::Kind::went ? 1 : 0;
    }
  }

  // Nearly full: what comes next has to preempt, however few rounds are played.
  void fill() {
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::string name = "node-" + std::to_string(i);
      const std::int64_t of_cpu = cache.find(name)->allocatable.milli_cpu;
      for (std::int64_t used = 0; used + 600 <= of_cpu; used += 600) {
        Pod low = make_pod("pod-" + std::to_string(count++), resources({{"cpu", "600m"}}));
        low.metadata.labels["color"] = random.chance(1, 2) ? "green" : "red";
        place(share(std::move(low)), name);
      }
    }
  }

  void play(std::uint64_t seed, std::size_t fleet, int events) {
    random = Random(seed);
    nodes = fleet;
    for (std::size_t i = 0; i < fleet; ++i) cache.set_node(share(node("node-" + std::to_string(i))));
    if (is_full_from_the_start) fill();
    for (int i = 0; i < rounds(events) && !HasFatalFailure(); ++i) {
      if (preempts || changes_promises) change_promises();
      if (comes_and_goes) change_the_fleet();
      if (!to_make.empty() && making.chance(1, 2)) end_making();
      if (makes_volumes) begin_claim_again();
      if (!preempts || random.chance(1, 2)) change_something();
      decide_both_ways();
    }
  }

  Random making{11};
  int volumes_made = 0;
  std::vector<std::tuple<PodPtr, std::string, std::string>> to_make;  // a pod, its claim, the node
  Random preparing{7};
  PodPtr to_prepare;
  int unfinished = 0;  // parts of views after which more was to do
  std::size_t next_start = 0;
  int from_view = 0;          // decisions between several nodes that a view made
  int volumes_chosen = 0;     // decisions that promised volumes
  int volumes_from_view = 0;  // of from_view, those with free volumes
  int preempted = 0;
  int refused = 0;  // decisions about pods that a device had refused
  bool is_full_from_the_start = false;
  bool changes_promises = false;
  bool comes_and_goes = false;  // nodes do, without the order being rebuilt
  std::ptrdiff_t last_changes = 0;
  ObjectsHandle handle;
  std::unique_ptr<Framework> framework;
  Cache cache;
  std::unique_ptr<NodeEvaluator> fast_path = make_fast_path();
  std::unique_ptr<NodeEvaluator> drawn_path = make_fast_path();
  std::map<std::string_view, int> declined;  // why drawn_path did, and how often; "": it did not
  std::vector<PodPtr> placed;
  std::vector<std::string> nominated;
  std::vector<PodPtr> waiting;  // for the nodes that they preempted
  std::vector<std::pair<PodPtr, std::vector<BoundVolume>>> promises;
};

}  // namespace berth
