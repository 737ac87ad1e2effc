// RollbackWatch: notices that an agent's store is an older copy of itself (N8). Each start of the agent is a run, with
// a number above all earlier ones of the incarnation, higher by a random number: two copies of one store do not have
// the same. The mark outside of the store names incarnation, run and position.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/handshake/term_history.h"
#include "core/random.h"
#include "core/store_mark.h"
#include "core/timers.h"
#include "core/turn.h"

namespace berth {

class RollbackWatch {
 public:
  // All outlive it. `marks` null: without a mark.
  RollbackWatch(StoreMarks* marks, const Clock& clock, Timers& timers, Turn& turn)
      : marks_(marks), clock_(clock), timers_(timers), turn_(turn) {}
  ~RollbackWatch() { timers_.cancel(hourly_); }
  RollbackWatch(const RollbackWatch&) = delete;
  RollbackWatch& operator=(const RollbackWatch&) = delete;

  // The store as it was read, before anything is staged. True: less than the mark says is in it.
  bool is_behind_mark(const std::string& incarnation, const TermHistory& runs);
  // This start is a run of its own; `earlier` are those of the incarnation. The caller makes runs() durable.
  void begin_run(TermHistory earlier, Random& random);
  const TermHistory& runs() const { return runs_; }
  // Called before a new incarnation is made durable. The mark names it first: an older copy of another incarnation must
  // not pass for it. False: the mark could not be written, so the incarnation must not begin. Forgets the earlier runs.
  bool begin_incarnation(const std::string& incarnation);
  // How far the store has come, as of the last commit: the run and its last position. Zero: nothing was committed.
  Epoch at() const {
    const std::uint64_t next = turn_.committed();
    return next > run_.counter ? Epoch{run_.term, next - 1} : Epoch{};
  }
  // True: this store never came to `seen`, which somebody has heard of it.
  bool is_behind(const Epoch& seen) const {
    return runs_.origin_of(seen, turn_.store().next_position()) == EpochOrigin::unknown;
  }
  // Marks how far the store has come, after this turn's commit, and then once an hour.
  void mark(const std::string& incarnation);

 private:
  StoreMarks* const marks_;
  const Clock& clock_;
  Timers& timers_;
  Turn& turn_;
  TermHistory runs_;
  Epoch run_;  // this one: its number, and the position where it began
  std::optional<StoreMark> marked_;
  Timers::Id hourly_ = 0;
};

}  // namespace berth
