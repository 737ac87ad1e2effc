// KeptOutput: how long a device keeps what a finished pod has written: until its object goes. A Release of a finished
// pod whose object stays says so (`keepOutput`); one without it, also of a pod without a slot, ends it. The second is
// sent once, as the object goes: a device that missed it tells what it keeps when it connects (`Kept`), and is told
// again. Nothing else depends on it, and nothing of it is durable at the gateway.
#pragma once

#include <set>
#include <string>
#include <tuple>

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
  // It is known again which objects there are (P8): what devices told meanwhile is judged.
  void adopt_mode_ended();

 private:
  static constexpr std::size_t kWaitingMax = 4096;  // of further ones a device tells again when it connects
  bool is_present(const std::string& node, const std::string& incarnation) const;
  void judge(const std::string& node, const std::string& uid, const Epoch& epoch);
  void end(const std::string& node, const std::string& uid, const Epoch& epoch);

  const PlacementContext& context_;
  const PlacementState& state_;
  RequestSender& sender_;
  // Told in adopt mode: node, incarnation, uid, epoch.
  std::set<std::tuple<std::string, std::string, std::string, Epoch>> waiting_;
};

}  // namespace berth
