// Finding processes in /proc: while they call execve, and when /proc cannot be read.
#include "firmware-host/agent/process_tree.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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

TEST(ProcessTree, ADirectoryOfTheSamePathInAnotherMountNamespaceHasAnotherOwner) {
  std::string root = std::filesystem::temp_directory_path() / "berth-owner-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  const std::string pods = root + "/pods";
  const std::string first = owner_of(pods);
  EXPECT_EQ(owner_of(pods), first);
  EXPECT_TRUE(owners_of(pods).contains(first));
  EXPECT_TRUE(owners_of(pods).contains(first.substr(0, 16))) << "as earlier programs named it";
  // Another directory of this path; the first one is kept, so that its inode is not used again.
  std::filesystem::rename(root, root + ".old");
  std::filesystem::create_directory(root);
  EXPECT_NE(owner_of(pods), first);
  EXPECT_FALSE(owners_of(pods).contains(first));
  std::filesystem::remove_all(root);
  std::filesystem::remove_all(root + ".old");
}

TEST(ProcessTree, AStateDirectoryThatWasMovedKeepsItsOwner) {
  std::string root = std::filesystem::temp_directory_path() / "berth-owner-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  const std::string first = owner_of(root + "/pods");
  std::filesystem::rename(root, root + ".moved");
  EXPECT_TRUE(is_of(first, owners_of(root + ".moved/pods")));
  EXPECT_FALSE(is_of("", owners_of(root + ".moved/pods")));
  std::filesystem::copy(root + ".moved", root + ".copy");
  EXPECT_FALSE(is_of(first, owners_of(root + ".copy/pods"))) << "another agent may have the first one";
  std::filesystem::remove_all(root + ".moved");
  std::filesystem::remove_all(root + ".copy");
}

// Runs `look` as another user, where /proc is mounted with hidepid. -1: not possible here.
int look_where_others_are_hidden(int (*look)()) {
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) _exit(77);
    const pid_t inner = fork();  // the first process of the namespace, and root's
    if (inner == 0) {
      const bool is_hidden = mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             mount("proc", "/proc", "proc", 0, "hidepid=1") == 0;
      if (!is_hidden) _exit(77);
      const pid_t user = fork();
      if (user == 0) _exit(setresgid(1234, 1234, 1234) == 0 && setresuid(1234, 1234, 1234) == 0 ? look() : 77);
      int status = 0;
      waitpid(user, &status, 0);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  waitpid(outer, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST(ProcessTree, ProcessesOfOtherUsersThatAreHiddenAreNotOursAndDoNotEndTheSearch) {
  const int status = look_where_others_are_hidden([] {
    const auto said = [](const auto& found, int code) {
      if (!found) std::fprintf(stderr, "%s\n", found.error().message().c_str());
      return found ? 0 : code;
    };
    const int keepers = said(find_keepers(""), 2);
    const int tagged = keepers != 0 ? keepers : said(find_tagged(""), 3);
    const int killed = tagged != 0 ? tagged : said(kill_by_environment({"BERTH_TAG=none"}), 4);
    return killed != 0 ? killed : said(kill_descendants(), 5);
  });
  if (status == 77) GTEST_SKIP() << "needs root, to mount /proc in a namespace of its own";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace berth
