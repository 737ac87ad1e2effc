// SyncBarrier: a numbered message that the gateway sends to itself. The broker delivers it behind everything that the
// same connection published and subscribed to before it, so its return proves that the broker has taken that in, and
// that all retained state of this session has arrived ("informers synced").
#pragma once

#include <cstdint>
#include <string>

#include "core/handshake/topics.h"
#include "core/transport.h"
#include "core/turn.h"

namespace berth {

class SyncBarrier {
 public:
  // `turn` and `topics` outlive it. `gateway`: whose topic it uses.
  SyncBarrier(Turn& turn, const Topics& topics, std::string gateway)
      : turn_(turn), topics_(topics), gateway_(std::move(gateway)) {}

  // A session with the broker begins, or ends. raise() and send() follow once the session is subscribed.
  void set_link(bool up);
  // The next barrier has a number of its own: those sent before no longer count.
  void raise() { ++number_; }
  // Leaves after this turn's commit. May be lost: it is sent again until it is back.
  void send();
  // Leaves a mark of this store under the barrier's topic, retained, for the next session to begin with.
  void leave_mark(const std::string& store_id, std::uint64_t orders);
  // True for the payload of the barrier sent last.
  bool is_back(const std::string& payload) const;
  void set_synced() { synced_ = true; }

  bool is_link_up() const { return link_up_; }
  // The first barrier of this session came back.
  bool is_synced() const { return synced_; }
  // Of the session, from 1; grows with each connect.
  std::uint32_t session() const { return session_; }
  std::uint64_t number() const { return number_; }
  // That of the next barrier: what is published now is proven taken in when it is back.
  std::uint64_t next() const { return number_ + 1; }

 private:
  Turn& turn_;
  const Topics& topics_;
  std::string gateway_;
  std::uint64_t number_ = 0;
  std::uint32_t session_ = 1;
  bool link_up_ = false;
  bool synced_ = false;
};

}  // namespace berth
