// The device's rules as pure functions of what is durable, and the one table of a slot's legal moves
// (core/handshake/rules.md N1-N5, P10). The agent carries the decisions out; tests/model explores them.
//
//            admit              prepared            Bind              exited
//     none ────────▶ preparing ─────────▶ prepared ───────▶ running ────────▶ finished
//      ▲                 │ failed, undo      │ undo           │ Release           │ Release (or undo: none)
//      ├─────────────────┴───────────────────┘                ▼                   │
//      └──────────────────────────────────────────────────stopping ◀──────────────┘
//                          stopped
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/handshake/epoch.h"
#include "core/handshake/messages.h"
#include "core/status.h"

namespace berth {

struct Slot {
  Epoch epoch;
  SlotState state = SlotState::none;
  std::string pod;  // manifest, JSON text
  std::vector<BoundVolume> volumes;
  std::string handle;                 // of the runtime, once started
  bool finished_before_stop = false;  // S8: a stopping slot that had finished does not count
  Millis promise_ms = 0;              // N5: how long preparing and prepared may last, from admission
  Millis deadline = 0;                // when that ends, on the clock of the boot in which it was admitted
  std::string status;                 // finished: the last observed status, JSON text

  // S8: what this slot asks for is charged to the node.
  bool is_charged() const {
    return state != SlotState::finished && !(state == SlotState::stopping && finished_before_stop);
  }
};

// All that is durable on a device.
struct NodeState {
  std::string incarnation;
  GatewayId gateway;  // obeyed
  Epoch floor;
  std::map<std::string, Epoch> high;  // by pod uid
  std::map<std::string, Slot> slots;  // by pod uid
};

enum class SlotEvent { admit, prepared, failed, undo, bind, exited, release, stopped };

struct SlotMove {
  SlotState from;
  SlotEvent event;
  SlotState to;
};

std::string_view to_string(SlotEvent event);
std::optional<SlotMove> find_move(SlotState from, SlotEvent event);
// CHECKs that the table has the move.
SlotState apply(SlotState from, SlotEvent event);

// What one request means: what to persist, in this order and in one commit, and what to do once that is durable.
struct NodeDecision {
  std::optional<GatewayId> adopt;    // N1: a higher term is obeyed from now on
  std::optional<Epoch> floor;        // P10: raised to this; hi entries below it go, but those of a pod with a slot
  std::optional<Epoch> high;         // hi[uid] becomes this
  bool undo = false;                 // the pod's slot (preparing, prepared or finished) ends at once: Runtime::undo
  std::optional<SlotEvent> event;    // then the slot moves by admit (prepare), bind (start) or release (stop)
  bool answer_when_stopped = false;  // Release: Released leaves once the stop is over and that is durable
  std::optional<Answer> answer;      // leaves after the commit; none: silence, or what the move ends in
};

// N2 "free: admit": may this PreBind have what it asks for? The reason of a refusal is for people.
using Admission = std::function<Status(const Request&)>;

// N1-N4 and P10, in that order. Changes nothing. A List or Heartbeat that passes N1 gets no answer from here.
NodeDecision decide(const NodeState& state, const Request& request, const Admission& admit);
// Makes `state` what it is once the decision's commit is durable (an admitted slot's deadline is the caller's).
// Returns the pods whose hi entries went.
std::vector<std::string> apply(NodeState& state, const Request& request, const NodeDecision& decision);
// Ends the pod's slot. Its hi entry stays, unless the floor says as much: then true is returned and it went too.
bool clear_slot(NodeState& state, const std::string& uid);

}  // namespace berth
