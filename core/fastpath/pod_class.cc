#include "core/fastpath/pod_class.h"

#include <algorithm>
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

}  // namespace

bool is_same_class(const Pod& a, const Pod& b, bool with_labels) {
  const auto asks = [](const Pod& pod) {
    return std::tie(pod.metadata.namespace_, pod.metadata.controller_uid, pod.scheduler_name, pod.priority,
                    pod.never_preempts, pod.node_name, pod.node_selector, pod.requests, pod.overhead, pod.rare,
                    pod.host_network, pod.needs);
  };
  const auto wants = [](const Pod& pod) {
    return std::tie(pod.affinity, pod.topology_spread_constraints, pod.tolerations);
  };
  if (with_labels && a.metadata.labels != b.metadata.labels) return false;
  return asks(a) == asks(b) && wants(a) == wants(b) && all_same(a.containers, b.containers) &&
         all_same(a.init_containers, b.init_containers) && a.volumes.empty() == b.volumes.empty();
}

}  // namespace berth
