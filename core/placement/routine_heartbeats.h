// RoutineHeartbeats: most heartbeats say what the one before said: the same incarnation, whose store has come no
// further. Of these nothing follows but that the device lives, and to find that out they are compared with what is
// known of it, byte by byte, and not decoded: with thousands of devices these are most of what a gateway does.
//
// The first heartbeat after anything else that the device said is taken in full, and begins its routine; anything else
// ends it (Twins::end_routine). One that is written in another way, has other members or asks for an answer is always
// taken in full: what is no routine here costs more, and means the same.
#pragma once

#include <string>
#include <string_view>

#include "core/json/json.h"
#include "core/placement/context.h"
#include "core/placement/heard_runs.h"

namespace berth {

class RoutineHeartbeats {
 public:
  // Both outlive it.
  RoutineHeartbeats(const PlacementContext& context, const HeardRuns& runs) : context_(context), runs_(runs) {}

  // True: the payload of a live heartbeat repeats what is known, and was taken. False: it is to be taken in full.
  bool take(std::string_view node, std::string_view payload);
  // This one was taken in full.
  void begin(const std::string& node, const Json& heartbeat);

 private:
  const PlacementContext& context_;
  const HeardRuns& runs_;
};

}  // namespace berth
