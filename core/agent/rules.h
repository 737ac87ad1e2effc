// The device's rules as pure functions of what is durable, and the one table of a slot's legal moves
// (handshake.md N1-N5, P10). The agent carries the decisions out; tests/model explores them.
//
//            admit              prepared            Bind              exited
//     none ────────▶ preparing ─────────▶ prepared ───────▶ running ────────▶ finished
//      ▲                 │ failed, undo      │ undo           │ Release           │ Release, clear
//      └─────────────────┴───────────────────┘                ▼                   │
//      ▲                                                   stopping ──stopped──▶ none
//      └──────────────────────────────────────────────────────────────────────────┘
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/handshake/epoch.h"
#include "core/handshake/messages.h"
#include "core/status.h"

namespace berth {

struct Slot {
  Epoch epoch;
  SlotState state = SlotState::none;
  std::string pod;  // manifest, JSON text
  std::vector<VolumeGrant> volumes;
  std::string handle;                 // of the runtime, once started
  bool finished_before_stop = false;  // S8: a stopping slot that had finished does not count
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

}  // namespace berth
