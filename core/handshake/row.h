// The gateway's side of the handshake: the binding row of a pod, and the one table of its legal moves.
//
//            Begin            PreBound          Bound            Finished, Delete
//     none ────────▶ prebind ─────────▶ bind ─────────▶ bound ────────────────▶ release
//      ▲                │                │  Delete                                 │
//      │  Rejected,     │                └──────────────────────────────────────▶  │
//      │  Stale, Hello, │                                                          │
//      │  Leave, Forget │  Rejected, Stale, Hello, Forget from bind, bound         │
//      └────────────────┴──────────────────────── Released, Rejected, Stale, Hello, Forget
//
// In adopt mode (P8) a slot that no row explains makes one: none to bound when it runs, none to release when it ends.
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

enum class Phase { none = 0, prebind = 1, bind = 2, bound = 3, release = 4 };

enum class RowEvent {
  begin,      // a decision was made: write the row
  pre_bound,  // node answers; guards of P5 hold
  bound,
  released,
  rejected,
  stale,          // hi >= e
  hello,          // another incarnation with the exact echo of (uid, epoch, row.incarnation)
  forget,         // the operator's word (P9)
  leave,          // prebind given up: deadline, delete, eviction, failure (P6)
  remove,         // bind or bound: delete, evict, preempt (P7)
  finished,       // bound: the workload ended for good; its resources are free, the slot is released
  found_running,  // adopt mode: a running slot that no row explained
  found_ending,   // adopt mode: likewise, of a pod that has ended, is stopping or is to be deleted
};

struct Row {
  Text uid;
  Text pod;  // "<namespace>/<name>"
  Epoch epoch;
  Text node;
  Text incarnation;
  Millis promise_ms = 0;
  std::vector<BoundVolume> volumes;
  Phase phase = Phase::none;
};

// What a node is still charged with after its row left prebind (P6).
struct ReleaseEntry {
  std::string node;
  std::string incarnation;
  std::string uid;
  Epoch epoch;
  std::string charge;  // the pod's manifest, JSON text: what it asks of the node until the answer comes
  std::vector<BoundVolume> volumes = {};  // of a slot that went beyond prepared: its claims are bound to these
};

struct Move {
  Phase from;
  RowEvent event;
  Phase to;
  bool to_release_list;  // the epoch goes to the node's release list in the same transaction
};

std::string_view to_string(Phase phase);
std::string_view to_string(RowEvent event);

// The legal move, or none: then the event changes nothing (logged and dropped). The one table of P2..P7.
std::optional<Move> find_move(Phase from, RowEvent event);
// Applies the move to row.phase; CHECKs that the table has it.
Move apply(Row& row, RowEvent event);

// What an answer means for a row, by the guards of P3 and P5: sender, incarnation, epoch, the gateway's store id,
// phase. None: it changes nothing. `promise_passed` (P2): true once the promise limit has gone by since the last
// PreBind was sent; PreBound is then turned into leave.
std::optional<RowEvent> read_answer(const Row& row, const Answer& answer, std::string_view own_store_id,
                                    bool promise_passed);
// True when the answer ends the release-list entry (P6: an answer as in P3).
bool ends_entry(const ReleaseEntry& entry, const Answer& answer, std::string_view own_store_id);

// Stored form: the value given to Store::begin (phase apart) and put(Table::release).
std::string encode(const Row& row);
Result<Row> decode_row(std::string_view value, int phase);
std::string encode(const ReleaseEntry& entry);
Result<ReleaseEntry> decode_release_entry(std::string_view value);

}  // namespace berth
