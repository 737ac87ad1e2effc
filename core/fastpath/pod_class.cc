#include "core/fastpath/pod_class.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <tuple>

#include "core/api/pod.h"

namespace berth {

namespace {

bool is_same(const Container& a, const Container& b) {
  return std::tie(a.image, a.host_ports, a.own_ports, a.requests, a.limits, a.restart_always) ==
         std::tie(b.image, b.host_ports, b.own_ports, b.requests, b.limits, b.restart_always);
}

bool all_same(const std::vector<Container>& a, const std::vector<Container>& b) {
  return &a == &b || std::equal(a.begin(), a.end(), b.begin(), b.end(),
                                [](const Container& x, const Container& y) { return is_same(x, y); });
}

bool is_same(const PodSpec& a, const PodSpec& b) {
  const auto asks = [](const PodSpec& spec) {
    return std::tie(spec.scheduler_name, spec.never_preempts, spec.requests, spec.overhead, spec.limits,
                    spec.resource_claims, spec.host_network, spec.needs, spec.topology_spread_constraints,
                    spec.tolerations);
  };
  return asks(a) == asks(b) && all_same(a.containers, b.containers) && all_same(a.init_containers, b.init_containers);
}

class Hash {
 public:
  Hash& add(std::uint64_t value) {
    sum_ = (sum_ ^ value) * 0x9E3779B97F4A7C15u;  // of the golden ratio
    sum_ ^= sum_ >> 32;
    return *this;
  }
  Hash& add_text(std::string_view text) { return add(std::hash<std::string_view>()(text)); }
  Hash& add_amounts(const ResourceList& amounts) {
    for (const auto& [name, amount] : amounts) add_text(name).add(static_cast<std::uint64_t>(amount.milli_value()));
    return add(amounts.size());
  }
  Hash& add_labels(const Labels& labels) {
    for (const auto& [key, value] : labels) add_text(key).add_text(value);
    return add(labels.size());
  }
  Hash& add_requirements(const std::vector<Requirement>& requirements) {
    for (const Requirement& each : requirements) {
      add_text(each.key).add(static_cast<std::uint64_t>(each.op));
      for (const std::string& value : each.values) add_text(value);
    }
    return add(requirements.size());
  }
  Hash& add_node_term(const NodeSelectorTerm& term) {
    return add_requirements(term.match_expressions).add_requirements(term.match_fields);
  }
  Hash& add_pod_term(const PodAffinityTerm& term) {
    if (term.label_selector) add_requirements(term.label_selector->requirements);
    return add_text(term.topology_key).add(term.namespaces.size());
  }
  Hash& add_pod_affinity(const PodAffinity& affinity) {
    for (const PodAffinityTerm& term : affinity.required) add_pod_term(term);
    for (const WeightedPodAffinityTerm& each : affinity.preferred) {
      add_pod_term(each.term).add(static_cast<std::uint64_t>(each.weight));
    }
    return add(affinity.required.size()).add(affinity.preferred.size());
  }
  std::size_t sum() const { return static_cast<std::size_t>(sum_); }

 private:
  std::uint64_t sum_ = 0;
};

void add_node_affinity(Hash& hash, const Affinity& affinity) {
  if (affinity.required_node_affinity) {
    for (const NodeSelectorTerm& term : affinity.required_node_affinity->terms) hash.add_node_term(term);
  }
  for (const PreferredNodeTerm& each : affinity.preferred_node_affinity) {
    hash.add_node_term(each.preference).add(static_cast<std::uint64_t>(each.weight));
  }
}

}  // namespace

// Not everything that classes differ in: what many of them do.
std::size_t hash_of_class(const Pod& pod, bool with_labels) {
  Hash hash;
  hash.add_text(pod.metadata.namespace_).add_text(pod.metadata.controller_uid).add_text(pod.spec->scheduler_name);
  hash.add(static_cast<std::uint64_t>(pod.priority)).add_text(pod.node_name).add_labels(pod.node_selector);
  if (with_labels) hash.add_labels(pod.metadata.labels);
  for (const Container& each : pod.spec->containers) {
    hash.add_text(each.image).add_amounts(each.requests).add(each.host_ports.size());
  }
  for (const Container& each : pod.spec->init_containers) hash.add_text(each.image).add_amounts(each.requests);
  if (!pod.affinity.is_none()) {
    add_node_affinity(hash, pod.affinity);
    hash.add_pod_affinity(pod.affinity->pod_affinity).add_pod_affinity(pod.affinity->pod_anti_affinity);
  }
  for (const TopologySpreadConstraint& each : pod.spec->topology_spread_constraints) {
    hash.add_text(each.topology_key).add(static_cast<std::uint64_t>(each.max_skew)).add(each.schedule_anyway ? 1 : 0);
    if (each.label_selector) hash.add_requirements(each.label_selector->requirements);
  }
  for (const Toleration& each : pod.spec->tolerations) hash.add_text(each.key).add_text(each.value);
  return hash.sum();
}

// The same of what plugins read that look at one node at a time.
std::size_t hash_of_demands(const Pod& pod) {
  Hash hash;
  hash.add_text(pod.node_name).add_labels(pod.node_selector);
  for (const auto* containers : {&pod.spec->containers.get(), &pod.spec->init_containers.get()}) {
    for (const Container& each : *containers) hash.add_amounts(each.requests).add(each.host_ports.size());
  }
  if (!pod.affinity.is_none()) add_node_affinity(hash, pod.affinity);
  for (const Toleration& each : pod.spec->tolerations) hash.add_text(each.key).add_text(each.value);
  return hash.sum();
}

bool is_same_class(const Pod& a, const Pod& b, bool with_labels) {
  const auto asks = [](const Pod& pod) {
    return std::tie(pod.metadata.namespace_, pod.metadata.controller_uid, pod.priority, pod.node_name,
                    pod.node_selector, pod.affinity);
  };
  if (with_labels && a.metadata.labels != b.metadata.labels) return false;
  return asks(a) == asks(b) && a.volumes.empty() == b.volumes.empty() &&
         (&a.spec.get() == &b.spec.get() || is_same(a.spec.get(), b.spec.get()));
}

}  // namespace berth
