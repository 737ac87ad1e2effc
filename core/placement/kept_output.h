// KeptOutput: how long a device keeps what a finished pod has written: until its object goes. A Release of a finished
// pod whose object stays says so (`keepOutput`); one without it, also of a pod without a slot, ends it. The second is
// sent once, as the object goes: a device that missed it tells what it keeps when it connects (`Kept`), and is told
// again. Nothing else depends on it, and nothing of it is durable at the gateway.
#pragma once

#include <string>

#include "core/handshake/messages.h"
#include "core/placement/context.h"
#include "core/placement/request_sender.h"
#include "core/placement/state.h"

namespace berth {

class KeptOutput {
 public:
  // All outlive it.
  KeptOutput(const PlacementContext& context, const PlacementState& state, RequestSender& sender)
      : context_(context), state_(state), sender_(sender) {}

  // Whether the Release of this pod's row is to keep it.
  static bool is_wanted(Objects& objects, std::string_view uid);
  // A device tells of which pod it keeps output.
  void take(const Answer& kept);
  // The object is about to go.
  void pod_gone(const PodEntry& entry);

 private:
  void end(const std::string& node, const std::string& uid, const Epoch& epoch);

  const PlacementContext& context_;
  const PlacementState& state_;
  RequestSender& sender_;
};

}  // namespace berth
