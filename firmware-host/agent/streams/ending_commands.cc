#include "firmware-host/agent/streams/ending_commands.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "firmware-host/agent/streams/exec_child.h"

namespace berth {

namespace {

constexpr itimerspec kLookEvery{{0, 20'000'000}, {0, 20'000'000}};
constexpr int kLooksMax = 1500;

}  // namespace

void EndingCommands::add(EndingCommand command) {
  if (end(command)) return;
  if (!clock_) {
    Descriptor clock(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!clock || timerfd_settime(clock.get(), 0, &kLookEvery, nullptr) != 0) command.looks = kLooksMax;
    if (command.looks == kLooksMax) return static_cast<void>(end(command));  // too many files are open
    clock_ = std::make_unique<FdWatch>(context_, clock.release(), [this] { look(); });
  }
  commands_.push_back(std::move(command));
}

// Whether the child has exited is asked first: what it said before is there then.
bool EndingCommands::end(EndingCommand& command) {
  const bool is_over = (command.pidfd && has_exited(command.pidfd.get())) || ++command.looks > kLooksMax;
  if (!command.kill() && !is_over) return false;
  kill_session(command.child);
  ended_.add({ProcessId{command.child, 0}, command.pidfd.release()});
  return true;
}

void EndingCommands::look() {
  std::uint64_t turns = 0;
  if (read(clock_->fd(), &turns, sizeof turns) < 0) return;
  std::erase_if(commands_, [this](EndingCommand& command) { return end(command); });
  if (commands_.empty()) clock_.reset();
}

}  // namespace berth
