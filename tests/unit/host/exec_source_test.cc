// ExecSource, EndingCommands, ExitCollector: that every child is reaped, also with no file descriptors left.
#include "firmware-host/agent/streams/exec_source.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <cerrno>
#include <csignal>

#include "firmware-host/agent/exit_collector.h"
#include "tests/unit/host/no_descriptors.h"

namespace berth {
namespace {

// A zombie is still there.
bool is_there(pid_t pid) { return kill(pid, 0) == 0; }

// Runs what there is to run; with nothing to wait for it returns.
void run_until_gone(asio::io_context& context, pid_t pid) {
  while (is_there(pid) && context.run_one() > 0) continue;
}

pid_t child_that_waits_to_be_killed() {
  const pid_t pid = fork();
  if (pid == 0) {
    pause();
    _exit(0);
  }
  return pid;
}

// It has exited, and is not reaped.
void make_zombie(pid_t pid) {
  kill(pid, SIGKILL);
  siginfo_t ended{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
}

TEST(ExecSource, OfAStreamThatEndsWithoutDescriptorsLeftTheCommandIsKilledAndReaped) {
  if (kNeedsDescriptors) GTEST_SKIP() << "this build needs descriptors of its own";
  asio::io_context context;
  EndingCommands ended(context);
  ExecStart start{};
  start.arguments = {"/bin/sh", "-c", "exec sleep 1000"};
  start.input = true;
  const Result<ExecChild> child = start_exec(start);
  ASSERT_TRUE(child) << child.error().message();
  auto source = std::make_unique<ExecSource>(context, *child, [] { return true; }, [] {}, ended);
  {
    const NoDescriptors none;
    source.reset();
  }
  run_until_gone(context, child->pid);
  EXPECT_FALSE(is_there(child->pid));
}

TEST(ExecSource, AStreamThatEndsTellsNothingMore) {
  asio::io_context context;
  EndingCommands ended(context);
  ExecStart start{};
  start.arguments = {"/bin/sh", "-c", "echo something"};
  const Result<ExecChild> child = start_exec(start);
  ASSERT_TRUE(child) << child.error().message();
  int told = 0;
  auto source = std::make_unique<ExecSource>(context, *child, [] { return true; }, [&] { ++told; }, ended);
  EXPECT_FALSE(source->read(1).end);
  siginfo_t exited{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child->pid), &exited, WEXITED | WNOWAIT), 0);
  source.reset();
  run_until_gone(context, child->pid);
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(is_there(child->pid));
}

TEST(ExitCollector, AChildWithoutADescriptorIsReapedWhenAnotherOneExits) {
  asio::io_context context;
  ExitCollector collector(context);
  const pid_t unwatched = child_that_waits_to_be_killed();
  collector.add({ProcessId{unwatched, 0}, -1});
  EXPECT_TRUE(is_there(unwatched));
  const pid_t watched = child_that_waits_to_be_killed();
  collector.add({ProcessId{watched, 0}, static_cast<int>(syscall(SYS_pidfd_open, watched, 0))});
  make_zombie(unwatched);
  kill(watched, SIGKILL);
  run_until_gone(context, watched);
  EXPECT_FALSE(is_there(watched) || is_there(unwatched));
  EXPECT_TRUE(collector.is_empty());
}

TEST(ExitCollector, AChildWithoutADescriptorIsReapedWhenAnotherOneIsAdded) {
  asio::io_context context;
  ExitCollector collector(context);
  const pid_t first = child_that_waits_to_be_killed();
  collector.add({ProcessId{first, 0}, -1});
  make_zombie(first);
  const pid_t second = child_that_waits_to_be_killed();
  make_zombie(second);
  collector.add({ProcessId{second, 0}, -1});
  EXPECT_FALSE(is_there(first) || is_there(second));
}

}  // namespace
}  // namespace berth
