// PluginEvents: the events that each plugin of a profile registered, which may make a pod schedulable that the plugin
// rejected.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/framework/events.h"
#include "core/framework/plugin.h"

namespace berth {

class PluginEvents {
 public:
  // The wildcard for plugins without EnqueueExtensions that can reject a pod. Node/Add implies UpdateNodeTaint, as
  // upstream.
  void add(const std::string& name, const Plugin& plugin);
  // None for unknown plugins.
  const std::vector<EventWithHint>& of(std::string_view plugin) const;
  // True when some plugin registered an event that matches `event`.
  bool is_of_interest(const ClusterEvent& event) const;

 private:
  std::map<std::string, std::vector<EventWithHint>, std::less<>> events_;
};

}  // namespace berth
