#include "core/api/defaults.h"

#include <algorithm>

#include "core/api/decode.h"
#include "core/api/packed.h"
#include "core/api/pod.h"
#include "core/api/qos_class.h"
#include "core/api/requests.h"

namespace berth {
namespace {

void request_limits(ResourceList& requests, const ResourceList& limits) {
  for (const auto& [name, limit] : limits) requests.emplace(name, limit);
}

// Must run after the containers' own defaults, which it sums.
void request_pod_limits(Pod& pod) {
  const ResourceList& limits = pod.spec->limits;
  if (limits.empty()) return;
  ResourceList defaults = container_requests(pod, {});
  std::erase_if(defaults, [](const auto& item) { return item.first != "cpu" && item.first != "memory"; });
  request_limits(pod.spec.edit().requests, defaults);
  for (const auto& [name, limit] : limits) {
    if (is_pod_level_resource(name)) pod.spec.edit().requests.emplace(name, limit);
  }
}

void use_host_ports(Container& container) {
  for (const HostPort& port : container.own_ports) {
    if (std::find(container.host_ports.begin(), container.host_ports.end(), port) == container.host_ports.end()) {
      container.host_ports.push_back(port);
    }
  }
  container.own_ports.clear();
}

void narrow(LabelSelector& selector, const std::vector<std::string>& keys, Requirement::Operator op,
            const Labels& labels) {
  for (const std::string& key : keys) {
    const auto label = labels.find(key);
    if (label == labels.end()) continue;
    Requirement requirement{key, op, {label->second}};
    auto& all = selector.requirements;
    if (std::find(all.begin(), all.end(), requirement) == all.end()) all.push_back(std::move(requirement));
  }
}

// A term without a selector matches nothing, so its keys have no effect.
void narrow(PodAffinityTerm& term, const Labels& labels) {
  if (!term.label_selector) return;
  narrow(*term.label_selector, term.match_label_keys, Requirement::Operator::in, labels);
  narrow(*term.label_selector, term.mismatch_label_keys, Requirement::Operator::not_in, labels);
}

// Pods that ask for resources cope with a node that is short of memory; others would be ended first.
void tolerate_memory_pressure(PodSpec& spec) {
  if (qos_class_of(spec) == QosClass::best_effort) return;
  const Toleration toleration{
      "node.kubernetes.io/memory-pressure", Toleration::Operator::exists, {}, TaintEffect::no_schedule, std::nullopt};
  const std::vector<Toleration>& all = spec.tolerations.get();
  if (std::find(all.begin(), all.end(), toleration) == all.end()) spec.tolerations.edit().push_back(toleration);
}

}  // namespace

void set_defaults(Pod& pod) {
  PodSpec& spec = pod.spec.edit();
  for (auto* containers : {&spec.init_containers, &spec.containers}) {
    for (Container& container : *containers) {
      request_limits(container.requests, container.limits);
      if (pod.spec->host_network) use_host_ports(container);
    }
  }
  request_pod_limits(pod);
  tolerate_memory_pressure(spec);
  for (PodVolume& volume : pod.volumes) {
    if (volume.disk.type == DiskSource::Type::rbd && volume.disk.pool.empty()) volume.disk.pool = "rbd";
  }
  if (pod.affinity.is_none()) return;
  const Labels& labels = pod.metadata.labels.get();
  for (PodAffinity* affinity : {&pod.affinity->pod_affinity, &pod.affinity->pod_anti_affinity}) {
    for (PodAffinityTerm& term : affinity->required) narrow(term, labels);
    for (WeightedPodAffinityTerm& weighted : affinity->preferred) narrow(weighted.term, labels);
  }
}

Result<Pod> decode_accepted_pod(const Json& manifest) {
  Result<Pod> pod = decode_pod(manifest, nullptr, Rules::off);
  if (pod) set_defaults(*pod);
  if (pod) share_parts(*pod);
  return pod;
}

}  // namespace berth
