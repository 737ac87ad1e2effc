// BothWays: a fleet to which things happen, and pods that are decided about by the plugins and by the fast path: node,
// draw, scores, reasons and preemption have to be the same.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/api/namespace.h"
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
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr int kClaims = 12;

// Volumes, and what selects pods and namespaces. A volume that did not change stays the same object, as in a gateway.
class TestObjects final : public Lister {
 public:
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override { return disks.claim(key); }
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override {
    const auto found = volumes.find(name);
    return found == volumes.end() ? nullptr : found->second;
  }
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override {
    return disks.storage_class(name);
  }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override {
    std::vector<std::shared_ptr<const PersistentVolume>> found;
    for (const auto& [key, each] : volumes) {
      if (each->storage_class_name == name) found.push_back(each);
    }
    return found;
  }
  std::uint64_t volumes_version() const override { return counts_volumes ? version : 0; }
  bool has_csi_nodes() const override { return false; }
  std::shared_ptr<const Namespace> name_space(std::string_view name) const override {
    return FakeVolumes::get(namespaces, std::string(name));
  }
  std::vector<std::shared_ptr<const Service>> services(std::string_view) const override { return all_services; }
  std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const override { return budgets; }
  void put(PersistentVolume volume) {
    ++version;
    const std::string name = volume.metadata.name;
    volumes[name] = std::make_shared<const PersistentVolume>(std::move(volume));
  }
  FakeVolumes disks;  // classes and claims
  std::map<std::string, std::shared_ptr<const PersistentVolume>> volumes;
  std::uint64_t version = 1;
  bool counts_volumes = true;
  std::map<std::string, Namespace> namespaces;
  std::vector<std::shared_ptr<const Service>> all_services;
  std::vector<std::shared_ptr<const PodDisruptionBudget>> budgets;
};

class ObjectsHandle final : public Handle {
 public:
  const Clock& clock() const override { return clock_of_test; }
  const Snapshot& snapshot() const override { return snapshot_of_test; }
  const Lister& lister() const override { return objects; }
  const Nominator& nominator() const override { return nominator_of_test; }
  std::uint64_t draw(std::uint64_t bound) override { return drawing.below(bound); }
  FakeClock clock_of_test;
  Snapshot snapshot_of_test;
  TestObjects objects;
  Nominator nominator_of_test;
  Random drawing{1};
};

class BothWays : public ::testing::Test {
 protected:
  void SetUp() override {
    make_framework(in_tree_registry(), default_profile());
    StorageClass local;
    local.metadata.name = "local";
    local.provisioner = StorageClass::kNoProvisioner;
    local.wait_for_first_consumer = true;
    handle.objects.disks.classes["local"] = local;
    for (int i = 0; i < kClaims; ++i) claim(i, false);
  }

  void make_framework(const Registry& registry, const Profile& profile) {
    auto made = Framework::make(registry, profile, handle);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    framework = std::move(*made);
  }

  // Unbound it gets a local volume of some node, bound it has one.
  void claim(int number, bool bound) {
    PersistentVolumeClaim made;
    made.metadata.name = "claim-" + std::to_string(number);
    made.metadata.namespace_ = "default";
    made.storage_class_name = "local";
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
  void reserve(const std::shared_ptr<const Pod>& asked, const std::string& node, CycleState& plain, CycleState& fast) {
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
    if (!framework->binding().run_reserve(fast, *asked, node).is_success()) {
      framework->binding().run_unreserve(fast, *asked, node);
    } else if (!from_class->bind.empty()) {
      promises.emplace_back(asked, from_class->bind);
      volumes_chosen += 1;
    }
  }

  std::string node_name() { return "node-" + std::to_string(random.below(nodes)); }

  Node node(const std::string& name) {
    Node made = make_node(name, std::to_string(2 + random.below(3)), "8Gi", "12");
    made.metadata.labels[kZone] = "zone-" + std::to_string(random.below(3));
    if (random.chance(1, 12)) made.metadata.labels[kZone] = "";
    if (random.chance(1, 12)) made.metadata.labels.erase(kZone);
    if (random.chance(1, 3)) made.metadata.labels["disk"] = "ssd";
    if (random.chance(1, 2)) made.metadata.labels["rack"] = "rack-" + std::to_string(random.below(nodes));
    if (random.chance(1, 8)) made.taints.push_back({"dedicated", "x", TaintEffect::no_schedule});
    if (random.chance(1, 4)) made.taints.push_back({"slow", "", TaintEffect::prefer_no_schedule});
    made.unschedulable = random.chance(1, 20);
    if (asks_features && random.chance(3, 4)) {
      std::vector<std::string> features{"limits"};
      if (random.chance(1, 2)) features.push_back("probes");
      made.declared_features = std::move(features);
    }
    if (random.chance(1, 10)) made.metadata.labels["kubernetes.io/hostname"] = node_name();
    if (all_new) made.metadata.labels["slot"] = std::to_string(random.below(8));
    if (has_images && random.chance(1, 4))
      made.images.push_back({{"docker.io/library/app:latest", "app:1"}, 300'000'000});
    return made;
  }

  // Twenty classes: resources, selectors, tolerations, ports, spreading, affinity.
  Pod pod() {
    if (preempts && random.chance(1, 2)) return preemptor();
    if (classes > 0) return pod_of_class(random.below(classes));
    const std::uint64_t shape = only_volumes ? 14 + 3 * random.below(2) : random.below(preempts ? 3 : 20);
    const std::string number = std::to_string(count++);
    Pod made = make_pod("pod-" + number, resources({{"cpu", std::to_string(100 + 100 * (shape % 3)) + "m"}}));
    made.metadata.labels["color"] = shape % 2 == 0 ? "green" : "red";
    // Pods of one class may be started differently, and be refused for that.
    if (refuses) made.shape = "shape " + std::to_string(shape) + " command " + std::to_string(random.below(2));
    made.priority = static_cast<std::int32_t>(shape % 2);
    if (asks_features && shape % 3 == 0) made.needs.push_back({"limits", "spec.containers[0].resources.limits"});
    if (asks_features && random.chance(1, 3)) made.needs.push_back({"probes", "spec.containers[0].livenessProbe"});
    LabelSelector green;
    green.requirements.push_back({"color", Requirement::Operator::in, {"green"}});
    PodAffinityTerm near;
    near.label_selector = green;
    near.topology_key = kZone;
    if (shape == 3) made.node_selector["disk"] = "ssd";
    if (shape == 4) made.tolerations.push_back({"dedicated", Toleration::Operator::exists, "", {}, {}});
    if (shape == 5) made.containers[0].host_ports.push_back({"", "TCP", 80});
    if (shape == 6 || shape == 7) {
      TopologySpreadConstraint spread;
      spread.topology_key = kZone;
      spread.label_selector = green;
      spread.schedule_anyway = shape == 7;
      made.topology_spread_constraints.push_back(spread);
    }
    if (shape == 8) made.affinity->pod_affinity.required.push_back(near);
    if (shape == 9) made.affinity->pod_anti_affinity.preferred.push_back({10, near});
    if (shape == 10) {
      near.topology_key = "kubernetes.io/hostname";
      made.affinity->pod_anti_affinity.required.push_back(near);
    }
    if (shape == 11) made.containers[0].requests = resources({{"cpu", "9"}});
    if (shape == 12) made.containers[0].image = "app:1";
    if (shape == 13) {
      NodeSelectorTerm ssd;
      ssd.match_expressions.push_back({"disk", Requirement::Operator::exists, {}});
      made.affinity->preferred_node_affinity.push_back({5, ssd});
    }
    if (shape == 14 || shape == 17) {
      made.volumes.push_back({"data", "claim-" + std::to_string(random.below(kClaims)), false, {}});
    }
    if (shape == 17) made.volumes.push_back({"more", "claim-" + std::to_string(random.below(kClaims)), false, {}});
    if (shape == 15) {
      near.namespace_selector.emplace();
      near.namespace_selector->requirements.push_back({"team", Requirement::Operator::in, {"a"}});
      made.affinity->pod_affinity.preferred.push_back({20, near});
      made.metadata.namespace_ = "other";
    }
    if (shape == 16) {
      near.topology_key = "rack";
      made.affinity->pod_anti_affinity.required.push_back(near);
    }
    return made;
  }

  // One of many workloads: plain, spread over zones or hosts, near or away from its own pods, or away from all.
  Pod pod_of_class(std::uint64_t number) {
    Pod made = make_pod("pod-" + std::to_string(count++), resources({{"cpu", std::to_string(50 + number) + "m"}}));
    const std::string app = "app-" + std::to_string(number);
    made.metadata.labels["app"] = app;
    made.metadata.labels["color"] = number % 2 == 0 ? "green" : "red";
    if (number % 3 == 0) made.node_selector["disk"] = "ssd";
    LabelSelector own;
    own.requirements.push_back({"app", Requirement::Operator::in, {app}});
    PodAffinityTerm term;
    term.label_selector = own;
    term.topology_key = number % 2 == 0 ? kZone : "kubernetes.io/hostname";
    const std::uint64_t kind = number % 7;
    if (kind == 1 || kind == 2) {
      TopologySpreadConstraint spread;
      spread.topology_key = term.topology_key;
      spread.max_skew = 2;
      spread.label_selector = own;
      spread.schedule_anyway = kind == 2;
      made.topology_spread_constraints.push_back(spread);
    }
    if (kind == 3) made.affinity->pod_anti_affinity.preferred.push_back({30, term});
    if (kind == 4) made.affinity->pod_affinity.required.push_back(term);
    if (kind == 5) made.affinity->pod_anti_affinity.required.push_back(term);
    if (kind == 6 && number % 4 == 0) {
      term.label_selector->requirements[0] = {"color", Requirement::Operator::in, {"red"}};
      made.affinity->pod_anti_affinity.preferred.push_back({10, term});
    }
    return made;
  }

  // What no pod asked for before; selectors of every operator, and priorities of nodes.
  Pod new_pod() {
    Pod made = pod();
    made.containers[0].requests =
        resources({{"cpu", std::to_string(50 + random.below(1500)) + "m"}, {"memory", std::to_string(count) + "Mi"}});
    if (random.chance(1, 8)) made.containers[0].requests = resources({{"memory", std::to_string(count)}});
    if (random.chance(1, 8)) made.containers[0].requests["ephemeral-storage"] = quantity("1Gi");
    if (random.chance(1, 2)) return made;
    constexpr std::array kOperators = {Requirement::Operator::in,     Requirement::Operator::not_in,
                                       Requirement::Operator::exists, Requirement::Operator::does_not_exist,
                                       Requirement::Operator::gt,     Requirement::Operator::lt};
    NodeSelector& required = made.affinity->required_node_affinity.emplace();
    for (std::uint64_t terms = 1 + random.below(2); terms > 0; --terms) {
      NodeSelectorTerm& term = required.terms.emplace_back();
      for (std::uint64_t left = random.below(3); left > 0; --left) {
        const std::uint64_t op = random.below(kOperators.size());
        Requirement& each = term.match_expressions.emplace_back();
        each.op = kOperators[op];
        if (op >= 4) {
          each.key = "slot";
          each.values = {std::to_string(random.below(8))};
        } else {
          each.key = random.chance(1, 2) ? kZone : random.chance(1, 2) ? "rack" : "disk";
          if (op < 2) each.values = {"zone-1", "zone-2", "ssd", "rack-" + std::to_string(random.below(nodes))};
        }
      }
      if (random.chance(1, 8))
        term.match_fields.push_back({"metadata.name", Requirement::Operator::not_in, {"node-1"}});
    }
    return made;
  }

  // Three classes that have to drive others off: one also has to spread, another is driven off itself.
  Pod preemptor() {
    const std::uint64_t shape = random.below(3);
    Pod made = make_pod("pod-" + std::to_string(count++), resources({{"cpu", shape == 2 ? "1200m" : "1800m"}}));
    made.priority = shape == 2 ? 5 : 10;
    if (shape != 1) return made;
    LabelSelector all;
    all.requirements.push_back({"color", Requirement::Operator::exists, {}});
    TopologySpreadConstraint spread;
    spread.max_skew = 2;
    spread.topology_key = kZone;
    spread.label_selector = all;
    made.topology_spread_constraints.push_back(spread);
    return made;
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
  void preempt(const std::shared_ptr<const Pod>& asked, const ScheduleResult& result) {
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

  std::shared_ptr<const Pod> next_pod() {
    if (waiting.empty() || !random.chance(1, 4)) return share(all_new ? new_pod() : pod());
    const std::shared_ptr<const Pod> next = waiting.front();
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
      ++handle.objects.version;
      handle.objects.volumes.erase(handle.objects.volumes.begin());
    }
    if (what == 7) volume(random.below(2 * kClaims), node_name());
  }

  void change_placed_pod() {
    if (placed.empty()) return;
    std::shared_ptr<const Pod>& old = placed[random.below(placed.size())];
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

  void place(const std::shared_ptr<const Pod>& pod, const std::string& node) {
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
    for (const auto& each : record->candidates) {
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
    last_changes += std::count_if(handle.snapshot_of_test.changes().begin(), handle.snapshot_of_test.changes().end(),
                                  [](const auto& each) { return each.kind == Snapshot::Change::Kind::went; });
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
      if (!preempts || random.chance(1, 2)) change_something();
      decide_both_ways();
    }
  }

  Random random{1};
  std::size_t nodes = 0;
  int count = 0;
  std::size_t next_start = 0;
  int from_view = 0;          // decisions between several nodes that a view made
  int volumes_chosen = 0;     // decisions that promised volumes
  int volumes_from_view = 0;  // of from_view, those with free volumes
  int preempted = 0;
  int refused = 0;             // decisions about pods that a device had refused
  bool only_volumes = false;   // no other pods
  bool preempts = false;       // half of the pods may have to
  bool refuses = false;        // devices refuse pods
  bool asks_features = false;  // of what devices say that they can do
  bool is_full_from_the_start = false;
  bool changes_promises = false;
  std::uint64_t classes = 0;  // pods of so many workloads, and no others
  bool all_new = false;       // nearly every pod is the first of its class
  bool has_images = true;
  bool comes_and_goes = false;  // nodes do, without the order being rebuilt
  std::ptrdiff_t last_changes = 0;
  ObjectsHandle handle;
  std::unique_ptr<Framework> framework;
  Cache cache;
  std::unique_ptr<NodeEvaluator> fast_path = make_fast_path();
  std::unique_ptr<NodeEvaluator> drawn_path = make_fast_path();
  std::map<std::string_view, int> declined;  // why drawn_path did, and how often; "": it did not
  std::vector<std::shared_ptr<const Pod>> placed;
  std::vector<std::string> nominated;
  std::vector<std::shared_ptr<const Pod>> waiting;  // for the nodes that they preempted
  std::vector<std::pair<std::shared_ptr<const Pod>, std::vector<BoundVolume>>> promises;
};

}  // namespace berth
