#include "firmware-host/loop.h"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "firmware-host/processor_slices.h"

namespace berth {

class EventLoop::Impl {
 public:
  Impl(const Clock& clock, Timers& timers)
      : clock_(clock), timers_(timers), work_(asio::make_work_guard(context_)), alarm_(context_), signals_(context_) {
    take_short_slices();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    await_signal();
  }

  Status run() {
    stopped_ = false;
    context_.restart();
    // Setup before the first wait may have staged changes.
    Status status = end_turn_ ? end_turn_() : Status::ok();
    while (!stopped_ && status.is_success()) status = turn();
    return status;
  }

  asio::io_context context_;
  std::function<Status()> end_turn_;
  std::function<void(int)> on_signal_;
  bool stopped_ = false;

 private:
  Status turn() {
    arm();
    std::size_t ran = context_.run_one();
    const std::int64_t end_us = clock_.now_us() + kHandlersUs;  // not measured from before run_one(), which waits
    const auto is_late = [this, end_us] { return clock_.now_us() >= end_us; };
    for (int i = 1; i < kHandlersPerTurn && !is_late() && context_.poll_one() > 0; ++i) ++ran;
    ran -= std::min(ran, std::exchange(alarms_, 0));
    ran += static_cast<std::size_t>(timers_.run_due(clock_.now(), is_late));
    if (ran == 0 || !end_turn_) return Status::ok();
    return end_turn_();
  }

  // One Asio timer for all deadlines. It is re-armed only for an earlier deadline: a spurious wake-up costs less than a
  // cancellation per turn.
  void arm() {
    const Millis now = clock_.now();
    Millis wake = now + kLongestWait;
    if (const auto next = timers_.next()) wake = std::clamp(*next, now, wake);
    if (armed_ && armed_for_ <= wake) return;
    armed_ = true;
    armed_for_ = wake;
    alarm_.expires_after(std::chrono::milliseconds(wake - now));
    alarm_.async_wait([this](const asio::error_code& error) {
      ++alarms_;
      if (!error) armed_ = false;
    });
  }

  void await_signal() {
    signals_.async_wait([this](const asio::error_code& error, int signal) {
      if (error) return;
      await_signal();
      if (!on_signal_ || signalled_) {
        stopped_ = true;
        return;
      }
      signalled_ = true;
      on_signal_(signal);
    });
  }

  const Clock& clock_;
  Timers& timers_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer alarm_;
  asio::signal_set signals_;
  std::size_t alarms_ = 0;  // handlers of alarm_ that ran in this turn; they do not count as activity
  bool armed_ = false;
  Millis armed_for_ = 0;
  bool signalled_ = false;
};

EventLoop::EventLoop(const Clock& clock, Timers& timers) : impl_(std::make_unique<Impl>(clock, timers)) {}
EventLoop::~EventLoop() = default;

asio::io_context& EventLoop::context() { return impl_->context_; }
void EventLoop::set_end_turn(std::function<Status()> end_turn) { impl_->end_turn_ = std::move(end_turn); }
void EventLoop::set_on_signal(std::function<void(int)> on_signal) { impl_->on_signal_ = std::move(on_signal); }
Status EventLoop::run() { return impl_->run(); }
void EventLoop::stop() { impl_->stopped_ = true; }

}  // namespace berth
