// NodeInboxes: how much one node may have processed in a turn. What it sends beyond that waits for the turns that
// follow, in its order and only the newest of each topic; beyond what is kept for it, messages are dropped: whatever
// mattered is sent or asked for again. So a node that floods delays itself, and costs the others no more than the
// reading of its messages.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"
#include "core/transport.h"

namespace berth {

// The authenticated node that sent a message with these topic levels; empty: not a node's.
std::string_view sender_of(const std::vector<std::string_view>& levels);

class NodeInboxes {
 public:
  using Process = std::function<void(const Message&)>;

  // All outlive it. `process` takes what waited.
  NodeInboxes(const Clock& clock, Timers& timers, Log& log, Process process);
  ~NodeInboxes();
  NodeInboxes(const NodeInboxes&) = delete;
  NodeInboxes& operator=(const NodeInboxes&) = delete;

  // True: the message is processed later, or dropped.
  bool put_off(const std::string& node, const std::vector<std::string_view>& levels, const Message& message);
  // A message held that many more answers than one: they count as if each had come alone.
  void charge_answers(const std::string& node, std::size_t more);
  // The turn ends; the next one goes on at once when something waits.
  void end_turn();
  // The link is new.
  void clear() {
    inboxes_.clear();
    has_waiting_ = false;
  }
  // Of any node.
  bool has_waiting() const { return has_waiting_; }

 private:
  struct Inbox {
    std::size_t taken = 0;  // in this turn
    std::size_t held = 0;   // by `waiting`
    std::vector<Message> waiting;
    bool overflows = false;  // since it was last empty
  };
  void read_all();
  void read(Inbox& inbox);

  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Process process_;
  std::map<std::string, Inbox> inboxes_;  // by node: of those that sent in this turn or have something waiting
  std::string last_read_;                 // node that read_all() processed last
  bool has_waiting_ = false;
  Timers::Id timer_ = 0;
};

}  // namespace berth
