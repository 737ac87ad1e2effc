// Turn: decide, commit, send. All changes of one turn of the loop go into one transaction; the turn's messages and
// other side effects happen only after it. Nothing in core sends or touches the runtime except through a Turn. What a
// lost commit turns into litter that a start sweeps away may happen right before it, so that its outcome is in the same
// commit: each one is a sync, which takes time and wears the flash.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/store.h"
#include "core/transport.h"

namespace berth {

class Turn {
 public:
  Turn(Store& store, Transport& transport) : store_(store), transport_(transport) {}

  Store& store() { return store_; }
  // Sent after this turn's commit; dropped if the link is down then.
  void send(Message message);
  // Runs at the end of this turn, before its commit, in order. May stage changes of this commit. Nobody may be able to
  // tell a commit that fails from an effect that never ran.
  void before_commit(std::function<void()> effect);
  // Runs after this turn's commit, in order with the sends. May stage more changes.
  void after_commit(std::function<void()> effect);
  // Ends the turn: runs what comes before the commit, commits, then runs the effects; repeats while these add more. An
  // error comes from the store: the effects are dropped and the program must exit.
  Status finish();
  // The store's next position as of the last commit; 0: there was none.
  std::uint64_t committed() const { return committed_; }
  // Messages handed to the transport so far.
  std::uint64_t sent() const { return sent_; }

 private:
  Store& store_;
  Transport& transport_;
  std::vector<std::function<void()>> early_;  // before the commit
  std::vector<std::function<void()>> effects_;
  std::uint64_t committed_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace berth
