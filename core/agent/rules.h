// The device's rules as pure functions of its durable state, and the state machine of a slot (core/handshake/rules.md
// N1-N5, P10). The agent carries the decisions out; tests/model explores them.
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
  std::string handle;                 // the runtime's, once started
  bool finished_before_stop = false;  // S8: a stopping slot that had finished holds no resources
  bool keep_output = false;           // stopping: what it wrote outlives the slot
  Millis promise_ms = 0;              // N5: how long preparing and prepared may last, from admission
  Millis deadline = 0;                // when the promise ends, on the clock of the boot in which it was admitted
  std::string status;                 // finished: the last observed status, JSON text

  // S8: the slot's requests count against the node.
  bool is_charged() const {
    return state != SlotState::finished && !(state == SlotState::stopping && finished_before_stop);
  }
};

// The durable state of a device.
struct NodeState {
  std::string incarnation;
  GatewayId gateway;                         // the one that the node obeys
  std::string proof;                         // what came with it, to be returned in Superseded; empty: nothing yet
  std::vector<ObeyedGateway> obeyed_before;  // those before it of which there was a proof; the last at the end
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
// CHECKs that the move is legal.
SlotState apply(SlotState from, SlotEvent event);

// The decision about one request: what to persist, in this order and in one commit, and what to do afterwards.
struct NodeDecision {
  std::optional<GatewayId> adopt;    // N1: a higher term is obeyed from now on
  std::optional<std::string> proof;  // N1: kept with the gateway obeyed
  std::optional<Epoch> floor;        // P10: raised to this; hi entries below it are dropped, except of pods with a slot
  std::optional<Epoch> high;         // hi[uid] becomes this
  bool undo = false;                 // the pod's slot (preparing, prepared or finished) ends at once: Runtime::undo
  std::optional<SlotEvent> event;    // applied to the slot afterwards: admit (prepare), bind (start) or release (stop)
  bool answer_when_stopped = false;  // Release: send Released once the workload has stopped and that is durable
  bool lasts = false;                // Rejected: it will be refused for as long as the agent runs
  std::optional<Answer> answer;      // sent after the commit; none: no answer, or one when the event is carried out
};

// N2 "free: admit": whether the pod of this PreBind fits. The reason of a rejection is for people.
// Unresolvable: nothing that ends here helps.
using Admission = std::function<Status(const Request&)>;

// Applies N1-N4 and P10, in that order, without changing `state`. Does not answer a List or Heartbeat that passes N1.
NodeDecision decide(const NodeState& state, const Request& request, const Admission& admit);
// Updates `state` with the decision (the caller sets an admitted slot's deadline). Returns the pods whose hi entries
// were dropped.
std::vector<std::string> apply(NodeState& state, const Request& request, const NodeDecision& decision);
// Removes the pod's slot. Its hi entry is kept unless the floor covers it; true when it was dropped too.
bool clear_slot(NodeState& state, const std::string& uid);

}  // namespace berth
