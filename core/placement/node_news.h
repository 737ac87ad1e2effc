// NodeNews: tells of nodes what Kubernetes' node controller and kubelet tell, as events: that a node is known, ready,
// no longer ready, closed to pods, rebooted, gone.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "core/mirror/event_recorder.h"
#include "core/objects/nodes.h"
#include "core/text.h"

namespace berth {

class NodeNews {
 public:
  // Outlives it.
  explicit NodeNews(EventRecorder& events) : events_(events) {}

  // At a start: the store knows the node, and nothing of that is news.
  void restore(const std::string& node) { seen_.try_emplace(Text::common(node)); }
  // Something of the node may have changed.
  void note(const std::string& node, const DeviceNode& device);
  // It was forgotten.
  void note_gone(const std::string& node);

 private:
  struct Seen {
    Text boot_id;            // empty: not heard yet
    bool was_ready = false;  // since the start of this gateway, or told to be
    bool ready = false;
    bool closed = false;
    bool has_node = false;
  };
  void tell(const std::string& node, const char* type, const char* reason, std::string message, bool by_device);

  EventRecorder& events_;
  std::unordered_map<Text, Seen, TextHash, std::equal_to<>> seen_;  // by name
};

}  // namespace berth
