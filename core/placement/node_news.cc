#include "core/placement/node_news.h"

#include <utility>

namespace berth {

void NodeNews::tell(const std::string& node, const char* type, const char* reason, std::string message,
                    bool by_device) {
  events_.record({Kind::node, node, type, reason, std::move(message), by_device ? Text(node) : Text()});
}

void NodeNews::note(const std::string& node, const DeviceNode& device) {
  if (device.node == nullptr) return;  // known by configuration only
  const auto [at, is_first] = seen_.try_emplace(Text::common(node));
  Seen& seen = at->second;
  if (is_first) {
    tell(node, "Normal", "RegisteredNode", "Node " + node + " event: Registered Node " + node + " in Controller", true);
  }
  if (seen.ready && !device.reachable) {
    tell(node, "Normal", "NodeNotReady", "Node " + node + " status is now: NodeNotReady", true);
  } else if (seen.was_ready && !seen.ready && device.reachable) {
    tell(node, "Normal", "NodeReady", "Node " + node + " status is now: NodeReady", true);
  }
  seen.ready = device.reachable;
  seen.was_ready = seen.was_ready || seen.ready;
  const bool closed = device.node->unschedulable;
  if (seen.has_node && closed != seen.closed) {
    const std::string state = closed ? "NodeNotSchedulable" : "NodeSchedulable";
    tell(node, "Normal", closed ? "NodeNotSchedulable" : "NodeSchedulable", "Node " + node + " status is now: " + state,
         false);
  }
  seen.closed = closed;
  seen.has_node = true;
  if (device.boot_id.empty()) return;
  if (!seen.boot_id.empty() && seen.boot_id != device.boot_id) {
    tell(node, "Warning", "Rebooted", "Node " + node + " has been rebooted, boot id: " + device.boot_id, true);
  }
  seen.boot_id = device.boot_id;
}

void NodeNews::note_gone(const std::string& node) {
  const auto seen = seen_.find(node);
  if (seen == seen_.end()) return;
  seen_.erase(seen);
  tell(node, "Normal", "RemovingNode", "Node " + node + " event: Removing Node " + node + " from Controller", false);
}

}  // namespace berth
