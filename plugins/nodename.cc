#include "plugins/nodename.h"

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/no_arguments.h"

namespace berth {

namespace {

const Status kOtherName = Status::unresolvable("node(s) didn't match the requested node name");

bool has_asked_name(const Pod& pod, const Node& node) {
  return pod.node_name.empty() || pod.node_name == node.metadata.name;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeName::make(const Json& args, Handle&) {
  return make_without_arguments<NodeName>(args);
}

std::vector<EventWithHint> NodeName::events_to_register() const {
  return {{{EventResource::node, kAdd, "NodeAdd"}, nullptr}};
}

Status NodeName::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (has_asked_name(pod, *node.node)) return {};
  return kOtherName;
}

}  // namespace berth
