#include "plugins/nodeports.h"

#include <algorithm>

#include "core/api/host_ports.h"
#include "plugins/no_arguments.h"

namespace berth {

namespace {

const Status kPortsTaken = Status::unschedulable("node(s) didn't have free ports for the requested pod ports");

struct RequestedPorts final : StateEntry {
  std::vector<HostPort> ports;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<RequestedPorts>(*this); }
};

bool share_a_port(const std::vector<HostPort>& requested, const Pod& other) {
  return takes_host_port(other, [&requested](const HostPort& port) { return conflicts(port, requested); });
}

// A pod without a node held no ports.
Hint after_pod_gone(const Pod& pod, const EventObjects& objects) {
  if (objects.old_pod == nullptr) return Hint::queue;
  if (objects.old_pod->node_name.empty() && objects.old_pod->nominated_node_name.empty()) return Hint::skip;
  return share_a_port(host_ports(pod), *objects.old_pod) ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodePorts::make(const Json& args, Handle&) {
  return make_without_arguments<NodePorts>(args);
}

std::vector<EventWithHint> NodePorts::events_to_register() const {
  return {{{EventResource::pod, kDelete, "PodDelete"}, after_pod_gone},
          {{EventResource::node, kAdd, "NodeAdd"}, nullptr}};
}

bool NodePorts::tells_apart(const Pod& a, const Pod& b) const { return host_ports(a) != host_ports(b); }

Status NodePorts::pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) {
  auto requested = std::make_unique<RequestedPorts>();
  requested->ports = host_ports(pod);
  if (requested->ports.empty()) return Status::skip();
  state.write(std::move(requested));
  return {};
}

Status NodePorts::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  const auto* requested = state.read<RequestedPorts>();
  if (requested == nullptr) return Status::error("PreFilter did not run");
  const bool taken = std::any_of(node.pods_with_host_ports.get().begin(), node.pods_with_host_ports.get().end(),
                                 [&](const auto& pod) { return share_a_port(requested->ports, *pod); });
  return taken ? kPortsTaken : Status();
}

}  // namespace berth
