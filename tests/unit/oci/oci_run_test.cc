// One run of a container, from create to delete, with a real OCI runtime.
#include "firmware-host/agent/oci/oci_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "tests/unit/oci/busybox_bundle.h"

namespace berth {
namespace {

class OciRunTest : public BusyboxBundle {
 protected:
  void SetUp() override {
    BusyboxBundle::SetUp();
    if (IsSkipped()) return;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    ASSERT_EQ(pipe2(pipe_.data(), O_CLOEXEC), 0);
  }
  void TearDown() override {
    for (const int end : pipe_) close(end);
    BusyboxBundle::TearDown();
  }

  void begin(const std::string& script) {
    write_config(script);
    run_ = std::make_unique<OciRun>(OciRun::Place{runtime(), folder_ + "/state", folder_, id()}, pipe_[1], pipe_[1]);
    ASSERT_TRUE(run_->begin().is_success());
  }
  // Passes on what ends until the run has come so far.
  void go_on_to(OciRun::Phase phase) {
    while (run_->phase() < phase) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      ASSERT_GT(ended, 0) << "nothing runs any more, in phase " << static_cast<int>(run_->phase());
      run_->take_exit(ended, status);
    }
  }
  void wait_for_output() {
    pollfd readable{pipe_[0], POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 20'000), 1) << "it has written nothing";
  }
  std::string output() {
    fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
    std::array<char, 4096> part{};
    const ssize_t got = read(pipe_[0], part.data(), part.size());
    return {part.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }
  // What the runtime still knows of it.
  bool is_known() const { return std::filesystem::exists(folder_ + "/state/" + id()); }

  std::array<int, 2> pipe_{-1, -1};
  std::unique_ptr<OciRun> run_;
};

TEST_F(OciRunTest, EndsWithTheExitCodeOfTheFirstProcessAndLeavesNothing) {
  begin("echo out; echo err >&2; exit 7");
  go_on_to(OciRun::Phase::ended);
  EXPECT_EQ(run_->failure(), "");
  ASSERT_TRUE(WIFEXITED(run_->status()));
  EXPECT_EQ(WEXITSTATUS(run_->status()), 7);
  EXPECT_EQ(output(), "out\nerr\n");
  EXPECT_FALSE(is_known());
}

TEST_F(OciRunTest, ASignalReachesTheFirstProcess) {
  begin("trap 'echo stopped; exit 0' TERM; echo ready; while :; do busybox sleep 1; done");
  go_on_to(OciRun::Phase::running);
  wait_for_output();
  run_->signal(SIGTERM);
  go_on_to(OciRun::Phase::ended);
  EXPECT_EQ(output(), "ready\nstopped\n");
  EXPECT_EQ(run_->status(), 0);
}

TEST_F(OciRunTest, AKillEndsTheContainerWithAllThatItStarted) {
  begin("trap '' TERM; busybox sleep 1000 & echo ready; busybox sleep 1000");
  go_on_to(OciRun::Phase::running);
  wait_for_output();
  run_->kill();
  go_on_to(OciRun::Phase::ended);
  EXPECT_EQ(run_->failure(), "");
  EXPECT_FALSE(is_known());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process of it is left";
}

TEST_F(OciRunTest, AKillWhileItIsCreatedEndsItBeforeItRuns) {
  begin("echo ran");
  run_->kill();
  go_on_to(OciRun::Phase::ended);
  EXPECT_EQ(output(), "");
  EXPECT_FALSE(is_known());
}

TEST_F(OciRunTest, AProgramThatIsNotThereIsTheReasonWhyItDoesNotRun) {
  write_config("");
  container_.argv = {"/bin/nothing"};
  std::ofstream(folder_ + "/config.json") << oci_spec(container_).dump();
  run_ = std::make_unique<OciRun>(OciRun::Place{runtime(), folder_ + "/state", folder_, id()}, pipe_[1], pipe_[1]);
  ASSERT_TRUE(run_->begin().is_success());
  go_on_to(OciRun::Phase::ended);
  EXPECT_NE(run_->failure().find("/bin/nothing"), std::string::npos) << run_->failure();
  EXPECT_FALSE(is_known());
}

TEST_F(OciRunTest, AMountWhoseSourceIsMissingIsTheReasonWhyItDoesNotRun) {
  container_.mounts = {{folder_ + "/missing", "/data"}};
  begin("true");
  go_on_to(OciRun::Phase::ended);
  EXPECT_NE(run_->failure().find("missing"), std::string::npos) << run_->failure();
}

TEST_F(OciRunTest, ARuntimeThatIsNotInstalledIsAnErrorAtOnce) {
  run_ = std::make_unique<OciRun>(OciRun::Place{folder_ + "/no-runtime", folder_, folder_, id()}, pipe_[1], pipe_[1]);
  EXPECT_EQ(run_->begin().message(), "cannot run " + folder_ + "/no-runtime: No such file or directory");
}

TEST_F(OciRunTest, ARuntimeThatHangsIsEndedByASecondKillAndReported) {
  const std::string program = folder_ + "/hangs";
  // Only the first program has the container's output.
  std::ofstream(program) << "#!/bin/sh\necho begun > /proc/" << getpid() << "/fd/" << pipe_[1] << "\nexec sleep 1000\n";
  chmod(program.c_str(), 0755);
  run_ = std::make_unique<OciRun>(OciRun::Place{program, folder_, folder_, id()}, pipe_[1], pipe_[1]);
  ASSERT_TRUE(run_->begin().is_success());
  for (const OciRun::Phase next : {OciRun::Phase::removing, OciRun::Phase::ended}) {
    wait_for_output();
    EXPECT_EQ(output(), "begun\n");
    run_->kill();
    run_->kill();
    go_on_to(next);
  }
  EXPECT_EQ(run_->failure(), program + " delete failed");
}

TEST_F(OciRunTest, TheNextRunOfTheSameContainerBegins) {
  for (int round = 0; round < 2; ++round) {
    begin("echo run");
    go_on_to(OciRun::Phase::ended);
    EXPECT_EQ(run_->failure(), "");
    EXPECT_EQ(output(), "run\n");
  }
}

}  // namespace
}  // namespace berth
