// EventLoop: the one thread of a program. It waits for descriptors, signals and deadlines, runs what is ready, and
// ends each turn once: decide, commit, send (core/turn.h).
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
  // Nor does it begin another handler or deadline after so long. One of each always runs.
  static constexpr std::int64_t kHandlersUs = 10'000;
  // Deadlines are judged by the clock at least this often: Asio's timers stop while the machine sleeps, ours do not.
  static constexpr Millis kLongestWait = 1000;

  // Both outlive the loop. From here on SIGPIPE and SIGHUP are ignored in the whole process.
  EventLoop(const Clock& clock, Timers& timers);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  asio::io_context& context();

  // Called after every turn in which a handler or a deadline ran. An error ends run() with that status.
  void set_end_turn(std::function<Status()> end_turn);
  // Called in a turn of its own at the first SIGINT or SIGTERM; the second one ends run() at once. Without it the
  // first one does.
  void set_on_signal(std::function<void(int signal)> on_signal);

  // Runs until stop() or a failed turn. May be called again after it returned.
  Status run();
  // Ends run() after the present turn, whose end_turn is still called.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
