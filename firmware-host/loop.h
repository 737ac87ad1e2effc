// EventLoop: the single thread of a program. It waits for descriptors, signals and deadlines, runs the ready handlers,
// and ends each turn once: decide, commit, send (core/turn.h). Its process takes short slices (processor_slices.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/clock.h"
#include "core/status.h"
#include "core/timers.h"

namespace asio {
class io_context;
}

namespace berth {

class EventLoop {
 public:
  // A turn runs at most this many ready handlers, so that commits and deadlines are never starved.
  static constexpr int kHandlersPerTurn = 128;
  // After this long a turn starts no further handler or deadline. One of each always runs.
  static constexpr std::int64_t kHandlersUs = 10'000;
  // Deadlines are checked at least this often: Asio's timers do not advance while the machine is suspended, ours do.
  // After a suspension one may be so late. A device with twenty pods has a loop for each, so that a second would be
  // felt.
  static constexpr Millis kLongestWait = 5000;

  // Both must outlive the loop. From here on the process ignores SIGPIPE and SIGHUP.
  EventLoop(const Clock& clock, Timers& timers);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  asio::io_context& context();

  // Called after every turn in which a handler or a deadline ran. An error ends run() with that status.
  void set_end_turn(std::function<Status()> end_turn);
  // Called at the first SIGINT or SIGTERM, in a turn; the second one ends run() at once. Without a callback the first
  // one does.
  void set_on_signal(std::function<void(int signal)> on_signal);

  // Runs until stop() or a failed turn. May be called again afterwards.
  Status run();
  // Ends run() after the current turn, whose end_turn is still called.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
