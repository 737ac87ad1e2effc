// The gateway's side of the handshake: the binding row of a pod, and its state machine.
//
//            Begin            PreBound          Bound            Finished, Delete
//     none ────────▶ prebind ─────────▶ bind ─────────▶ bound ────────────────▶ release
//      ▲                │                │  Delete                                 │
//      │  Rejected,     │                └──────────────────────────────────────▶  │
//      │  Stale, Hello, │                                                          │
//      │  Leave, Forget │  Rejected, Stale, Hello, Forget from bind, bound         │
//      └────────────────┴──────────────────────── Released, Rejected, Stale, Hello, Forget
//
// In adopt mode (P8) a slot without a row creates one: none to bound when it runs, none to release when it is ending.
// Leave (from prebind only, rule P6) puts the epoch on the node's release list in the same transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/handshake/epoch.h"
#include "core/handshake/messages.h"
#include "core/status.h"
#include "core/text.h"

namespace berth {

enum class Phase : std::uint8_t { none = 0, prebind = 1, bind = 2, bound = 3, release = 4 };

enum class RowEvent {
  begin,      // the pod was placed: write the row
  pre_bound,  // answers of the node that pass the guards of P5
  bound,
  released,
  rejected,
  stale,          // hi >= e
  hello,          // another incarnation with the exact echo of (uid, epoch, row.incarnation)
  forget,         // requested by the operator (P9)
  leave,          // prebind given up: deadline, delete, eviction, failure (P6)
  remove,         // bind or bound: delete, evict, preempt (P7)
  finished,       // bound: the workload terminated; its resources are free, the slot is released
  found_running,  // adopt mode: a running slot without a row
  found_ending,   // adopt mode: likewise, of a pod that has terminated, is stopping or is being deleted
};

struct Row {
  Text uid;
  Text pod;  // "<namespace>/<name>"
  Epoch epoch;
  Text node;
  Text incarnation;
  Millis promise_ms : 56 = 0;  // at most a year
  Phase phase : 8 = Phase::none;
  BoundVolumes volumes;
};

// A placement that was given up in prebind and still counts against the node (P6).
struct ReleaseEntry {
  std::string node;
  std::string incarnation;
  std::string uid;
  Epoch epoch;
  std::string charge;  // pending-release requests, JSON text: they count against the node until the answer arrives
  std::vector<BoundVolume> volumes = {};  // of a slot that got beyond prepared: its claims are bound to these
  std::string pod = {};     // of a workload without an object: "<namespace>/<name>", by what the device holds
  bool holds_name = false;  // no other pod of that name is placed meanwhile (P14)
  std::vector<std::string> made = {};  // volumes that its device was asked to make
};

struct Move {
  Phase from;
  RowEvent event;
  Phase to;
  bool to_release_list;  // the epoch is added to the node's release list in the same transaction
};

std::string_view to_string(Phase phase);
std::string_view to_string(RowEvent event);

// The legal move, or none if the event is to be ignored (logged and dropped). The transition table of P2..P7.
std::optional<Move> find_move(Phase from, RowEvent event);
// Applies the move to row.phase; CHECKs that it is legal.
Move apply(Row& row, RowEvent event);

// The event that an answer is for a row, after the guards of P3 and P5: sender, incarnation, epoch, the gateway's store
// id, phase. None: ignored. `promise_passed` (P2): whether the promise limit has passed since the last PreBind was
// sent; then PreBound becomes leave.
std::optional<RowEvent> read_answer(const Row& row, const Answer& answer, std::string_view own_store_id,
                                    bool promise_passed);
// True when the answer ends the release-list entry (P6: an answer as in P3).
bool ends_entry(const ReleaseEntry& entry, const Answer& answer, std::string_view own_store_id);

// Stored form: the values for Store::begin (the phase is stored apart) and put(Table::release).
std::string encode(const Row& row);
Result<Row> decode_row(std::string_view value, int phase);
std::string encode(const ReleaseEntry& entry);
Result<ReleaseEntry> decode_release_entry(std::string_view value);

}  // namespace berth
