// Finding processes in /proc: while they call execve, and when /proc cannot be read.
#include "firmware-host/agent/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/unit/host/no_descriptors.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

// A process that keeps executing itself under one pid, with `tag` in its environment.
class Restless {
 public:
  explicit Restless(const std::string& tag) : tag_("BERTH_TAG=" + tag) {
    pid_ = fork();
    if (pid_ != 0) return;
    const char* script = "exec sh -c \"$SCRIPT\"";
    const std::string variable = std::string("SCRIPT=") + script;
    const char* arguments[] = {"sh", "-c", script, nullptr};
    const char* environment[] = {tag_.c_str(), variable.c_str(), "PATH=/usr/bin:/bin", nullptr};
    execve("/bin/sh", const_cast<char**>(arguments), const_cast<char**>(environment));
    _exit(127);
  }
  ~Restless() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  std::string tag_;
  pid_t pid_ = -1;
};

const int kAttempts = rounds(100);

TEST(ProcessTree, FindsAProcessAtEveryMomentOfExecve) {
  const std::string tag = "exec/n" + std::to_string(getpid()) + "/pod/1";
  const Restless process(tag);
  while (find_tagged(tag).value().empty()) continue;  // until its first execve it has the test's environment
  int missed = 0;
  for (int i = 0; i < kAttempts; ++i) missed += find_tagged(tag).value().empty() ? 1 : 0;
  EXPECT_EQ(missed, 0) << "of " << kAttempts << " attempts";
}

TEST(ProcessTree, KillsAProcessThatKeepsExecutingItselfAtTheFirstCall) {
  for (int i = 0; i < rounds(20); ++i) {
    const std::string tag = "kill/n" + std::to_string(getpid()) + "/pod/" + std::to_string(i + 1);
    const Restless process(tag);
    while (find_tagged(tag).value().empty()) continue;
    EXPECT_EQ(kill_by_environment({"BERTH_TAG=" + tag}), 1) << "round " << i;
  }
}

TEST(ProcessTree, ASearchWithoutDescriptorsIsAnErrorAndFindsNothingGone) {
  const ProcessId self{getpid(), start_time_of(getpid()).value()};
  const NoDescriptors none;
  const std::string why = ": Too many open files";
  EXPECT_EQ(find_keepers("").error().message(), "cannot read /proc" + why);
  EXPECT_EQ(find_tagged("").error().message(), "cannot read /proc" + why);
  EXPECT_EQ(kill_by_environment({"BERTH_TAG=none"}).error().message(), "cannot read /proc" + why);
  EXPECT_EQ(kill_descendants().error().message(), "cannot read /proc" + why);
  EXPECT_EQ(start_time_of(getpid()).error().message(), "cannot read /proc/" + std::to_string(getpid()) + "/stat" + why);
  EXPECT_EQ(open_pidfd(self).error().message(), "cannot watch process " + to_text(self) + why);
}

TEST(ProcessTree, AProcessThatHasExitedIsAbsent) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const ProcessId process{child, start_time_of(child).value()};
  EXPECT_NE(process.start_time, 0u);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(start_time_of(child).value(), 0u);
  EXPECT_EQ(open_pidfd(process).value(), -1);
}

}  // namespace
}  // namespace berth
