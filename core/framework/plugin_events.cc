#include "core/framework/plugin_events.h"

#include <algorithm>

namespace berth {

namespace {

// Whether the plugin has a point whose rejections are remembered in the queue by plugin name.
bool may_reject(const Plugin& plugin) {
  return dynamic_cast<const PreEnqueuePlugin*>(&plugin) != nullptr ||
         dynamic_cast<const PreFilterPlugin*>(&plugin) != nullptr ||
         dynamic_cast<const FilterPlugin*>(&plugin) != nullptr ||
         dynamic_cast<const ReservePlugin*>(&plugin) != nullptr ||
         dynamic_cast<const PermitPlugin*>(&plugin) != nullptr;
}

}  // namespace

void PluginEvents::add(const std::string& name, const Plugin& plugin) {
  std::vector<EventWithHint>& events = events_[name];
  const auto* extensions = dynamic_cast<const EnqueueExtensions*>(&plugin);
  if (extensions == nullptr) {
    // A plugin that can reject pods but registers no events is woken by every event; others need no events.
    if (may_reject(plugin)) events.push_back({});
    return;
  }
  events = extensions->events_to_register();
  bool node_add = false;
  bool node_taint = false;
  for (const EventWithHint& entry : events) {
    if (entry.event.resource != EventResource::node) continue;
    node_add = node_add || (entry.event.actions & kAdd) != 0;
    node_taint = node_taint || (entry.event.actions & kUpdateNodeTaint) != 0;
  }
  if (node_add && !node_taint) events.push_back({{EventResource::node, kUpdateNodeTaint, "NodeTaintUpdate"}, nullptr});
}

const std::vector<EventWithHint>& PluginEvents::of(std::string_view plugin) const {
  static const std::vector<EventWithHint> kNone;
  auto found = events_.find(plugin);
  return found == events_.end() ? kNone : found->second;
}

bool PluginEvents::is_of_interest(const ClusterEvent& event) const {
  return std::any_of(events_.begin(), events_.end(), [&event](const auto& plugin) {
    return std::any_of(plugin.second.begin(), plugin.second.end(),
                       [&event](const EventWithHint& asked) { return asked.event.matches(event); });
  });
}

}  // namespace berth
