// Dispatcher: brings each message that arrives to the part that it is for, by its topic. The sender of a message is the
// authenticated level of its topic, never a name in its payload (S12).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gateway/api.h"
#include "core/gateway/desired_inbox.h"
#include "core/gateway/node_inboxes.h"
#include "core/placement/placement.h"

namespace berth {

class Dispatcher {
 public:
  // All outlive it. `on_synced`: the first barrier of a session is back.
  Dispatcher(const PlacementContext& context, Placement& placement, DesiredInbox& desired, Api& api,
             std::function<void()> on_synced);

  void take(const Message& message);
  // The turn ends: what nodes still have waiting goes on in the next one.
  void end_turn() { inboxes_.end_turn(); }
  // The link is new: what waited is dropped.
  void clear() { inboxes_.clear(); }

 private:
  bool is_routine_heartbeat(const Message& message);
  void dispatch(const std::vector<std::string_view>& levels, const Message& message);
  void take_from_node(const std::vector<std::string_view>& levels, const Message& message);
  void take_answers(const std::string& node, const Message& message);
  void take_status(const std::vector<std::string_view>& levels, const Message& message);
  void take_barrier(const Message& message);

  const PlacementContext& context_;
  Placement& placement_;
  DesiredInbox& desired_;
  Api& api_;
  std::function<void()> on_synced_;
  Counter& received_;
  NodeInboxes inboxes_;
};

}  // namespace berth
