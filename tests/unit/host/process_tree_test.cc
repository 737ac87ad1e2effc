// Finding processes in /proc while they call execve.
#include "firmware-host/agent/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

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
  while (find_tagged(tag).empty()) continue;  // until its first execve it has the test's environment
  int missed = 0;
  for (int i = 0; i < kAttempts; ++i) missed += find_tagged(tag).empty() ? 1 : 0;
  EXPECT_EQ(missed, 0) << "of " << kAttempts << " attempts";
}

TEST(ProcessTree, KillsAProcessThatKeepsExecutingItselfAtTheFirstCall) {
  for (int i = 0; i < rounds(20); ++i) {
    const std::string tag = "kill/n" + std::to_string(getpid()) + "/pod/" + std::to_string(i + 1);
    const Restless process(tag);
    while (find_tagged(tag).empty()) continue;
    EXPECT_EQ(kill_by_environment({"BERTH_TAG=" + tag}), 1) << "round " << i;
  }
}

}  // namespace
}  // namespace berth
