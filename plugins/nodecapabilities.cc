#include "plugins/nodecapabilities.h"

#include "core/api/features.h"
#include "core/api/node.h"
#include "plugins/no_arguments.h"

namespace berth {

namespace {

std::vector<Need> missing_on(const Node& node, const Pod& pod) {
  if (pod.spec->needs.empty() || !node.declared_features) return {};
  return missing_of(pod.spec->needs, *node.declared_features);
}

Hint after_features_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  return missing_on(*objects.new_node, pod).empty() ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeCapabilities::make(const Json& args, Handle&) {
  return make_without_arguments<NodeCapabilities>(args);
}

std::vector<EventWithHint> NodeCapabilities::events_to_register() const {
  return {{{EventResource::node, kAdd | kUpdateNodeDeclaredFeature, "NodeAddOrFeatures"}, after_features_change}};
}

Status NodeCapabilities::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  std::vector<std::string> reasons;
  for (const Need& need : missing_on(*node.node, pod)) reasons.push_back("node(s) do not support " + to_text(need));
  if (reasons.empty()) return {};
  return {Code::unresolvable, std::move(reasons)};
}

}  // namespace berth
