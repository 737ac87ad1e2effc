// Turn: decide, commit, send. What one turn of the loop changes goes into one transaction; only then do that turn's
// messages and other effects leave. Nothing in core sends or touches the runtime but through a Turn.
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
  // Leaves after this turn's commit; dropped when the link is down then.
  void send(Message message);
  // Runs after this turn's commit, in the order given, between sends in that order. May stage more.
  void after_commit(std::function<void()> effect);
  // Ends the turn: commits, then runs the effects; again while these staged more. An error is the store's: the
  // effects are dropped and the program must end.
  Status finish();
  // Messages handed to the transport so far.
  std::uint64_t sent() const { return sent_; }

 private:
  Store& store_;
  Transport& transport_;
  std::vector<std::function<void()>> effects_;
  std::uint64_t sent_ = 0;
};

}  // namespace berth
