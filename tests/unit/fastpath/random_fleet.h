// RandomFleet: nodes and pods with something of everything that plugins look at, drawn from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/random.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr int kClaims = 12;

struct RandomFleet {
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
    if (makes_volumes && pools.chance(2, 3)) {
      made.volume_pools = std::vector<VolumePool>{{"made", "/made", quantity(pools.chance(1, 2) ? "1Gi" : "3Gi")}};
    }
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
    if (asks_features && shape % 3 == 0)
      made.spec.edit().needs.push_back({"limits", "spec.containers[0].resources.limits"});
    if (asks_features && random.chance(1, 3))
      made.spec.edit().needs.push_back({"probes", "spec.containers[0].livenessProbe"});
    LabelSelector green;
    green.requirements.push_back({"color", Requirement::Operator::in, {"green"}});
    PodAffinityTerm near;
    near.label_selector = green;
    near.topology_key = kZone;
    if (shape == 3) made.node_selector["disk"] = "ssd";
    if (shape == 4) made.spec.edit().tolerations.push_back({"dedicated", Toleration::Operator::exists, "", {}, {}});
    if (shape == 5) made.spec.edit().containers[0].host_ports.push_back({"", "TCP", 80});
    if (shape == 6 || shape == 7) {
      TopologySpreadConstraint spread;
      spread.topology_key = kZone;
      spread.label_selector = green;
      spread.schedule_anyway = shape == 7;
      made.spec.edit().topology_spread_constraints.push_back(spread);
      spread.topology_key = "rack";  // which half of the nodes lack
      if (spreads_twice) made.spec.edit().topology_spread_constraints.push_back(spread);
    }
    if (shape == 8) made.affinity->pod_affinity.required.push_back(near);
    if (shape == 9) made.affinity->pod_anti_affinity.preferred.push_back({10, near});
    if (shape == 10) {
      near.topology_key = "kubernetes.io/hostname";
      made.affinity->pod_anti_affinity.required.push_back(near);
    }
    if (shape == 11) made.spec.edit().containers[0].requests = resources({{"cpu", "9"}});
    if (shape == 12) made.spec.edit().containers[0].image = "app:1";
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
      made.spec.edit().topology_spread_constraints.push_back(spread);
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
    made.spec.edit().containers[0].requests =
        resources({{"cpu", std::to_string(50 + random.below(1500)) + "m"}, {"memory", std::to_string(count) + "Mi"}});
    if (random.chance(1, 8)) made.spec.edit().containers[0].requests = resources({{"memory", std::to_string(count)}});
    if (random.chance(1, 8)) made.spec.edit().containers[0].requests["ephemeral-storage"] = quantity("1Gi");
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
    made.spec.edit().topology_spread_constraints.push_back(spread);
    return made;
  }

  Random random{1};
  std::size_t nodes = 0;
  int count = 0;
  bool only_volumes = false;   // no other pods
  bool makes_volumes = false;  // devices do, for two thirds of the claims
  Random pools{13};
  bool preempts = false;       // half of the pods may have to
  bool refuses = false;        // devices refuse pods
  bool asks_features = false;  // of what devices say that they can do
  std::uint64_t classes = 0;   // pods of so many workloads, and no others
  bool spreads_twice = false;  // pods that are spread are so over two keys
  bool all_new = false;        // nearly every pod is the first of its class
  bool has_images = true;
};

}  // namespace berth
