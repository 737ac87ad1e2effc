// RequestSender: requests to devices. Those of one turn to one node leave in one list, after the turn's commit.
#pragma once

#include <functional>
#include <string>

#include "core/outbox.h"
#include "core/placement/context.h"
#include "core/placement/live_epochs.h"
#include "core/placement/short_names.h"

namespace berth {

// P10: whether a request brings the node's present floor, or none (0.0). While other devices are given pods the floor
// of one without pods rises with each of them, and whenever it hears a higher one it writes.
enum class Floor { raise, leave };

class RequestSender {
 public:
  // Both outlive it.
  RequestSender(const PlacementContext& context, const LiveEpochs& epochs);

  // Adds who speaks, and the floor; once, in as few words as the device understands. `still_needed`, if any, is asked
  // after the commit: what followed in the same turn may have made the request wrong.
  void send(const std::string& node, Request request, std::function<bool()> still_needed = {},
            Floor floor = Floor::raise);
  ShortNames& names() { return names_; }
  // Runs `run` after the next delay: it doubles with `resends`, with a jitter of a quarter, so that a fleet that
  // reconnects does not answer in step. Cancels what `timer` was set to.
  void arm_resend(Timers::Id& timer, int& resends, std::function<void()> run);

 private:
  const PlacementContext& context_;
  const LiveEpochs& epochs_;
  ShortNames names_;
  Outbox<Request> requests_;
};

}  // namespace berth
