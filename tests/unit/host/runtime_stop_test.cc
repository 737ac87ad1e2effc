// How pods end: stops with and without grace, and nothing is left behind.
#include <csignal>

#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

TEST_F(RuntimeTest, StopsSidecarsOnceTheContainersHaveEnded) {
  run(tag_, pod("exit 0", "Never",
                R"("initContainers":[{"name":"s","restartPolicy":"Always","command":["sleep","1000"]}],)"));
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(alive(tag_), 0u);
}

TEST_F(RuntimeTest, StopsWithAGracePeriod) {
  const std::string mark = root_ + "/mark";
  run(tag_, after_init("true", "trap 'touch " + mark + "; exit 0' TERM; echo up; while :; do sleep 0.05; done"));
  wait_running();
  // The script prints once its trap is set.
  run_while([&] { return output(tag_).empty(); });
  stop(tag_, 30000);
  EXPECT_TRUE(fs::exists(mark));
  EXPECT_FALSE(fs::exists(directory(tag_)));
  EXPECT_EQ(alive(tag_), 0u);
}

TEST_F(RuntimeTest, KillsContainersAfterTheGracePeriod) {
  run(tag_, pod("trap '' TERM; while :; do sleep 1000; done"));
  wait_running();
  stop(tag_, 20);
  EXPECT_EQ(alive(tag_), 0u);
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, StopsAPodThatIsStillHeld) {
  start(tag_, pod("touch " + root_ + "/mark"));
  stop(tag_, 30000);
  EXPECT_FALSE(fs::exists(root_ + "/mark"));
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, AnswersStopOfAnUnknownTagFromTheLoop) {
  runtime_->stop({"nobody", {9, 9}}, 1000);
  EXPECT_TRUE(events_.empty());
  wait_kind("stopped");
}

TEST_F(RuntimeTest, KillsAGrandchildThatEscaped) {
  // One left its session; the other also dropped its environment and can only be found by its descent.
  const std::string one = "sleep 1" + std::to_string(getpid());
  const std::string two = "sleep 2" + std::to_string(getpid());
  run(tag_, pod("(setsid " + one + " &); (setsid env -i " + two + " &); sleep 1003 & wait"));
  wait_running();
  run_while([&] { return !runs(one) || !runs(two); });
  stop(tag_, 10);
  EXPECT_EQ(alive(tag_), 0u);
  EXPECT_FALSE(runs(one));
  EXPECT_FALSE(runs(two));
}

TEST_F(RuntimeTest, KillsAllProcessesOfAContainerWhenItsFirstProcessExits) {
  run(tag_, pod("(setsid sleep 1000 &) ; exit 5"));
  EXPECT_EQ(exit_code(wait_finished()), 5);
  EXPECT_EQ(alive(tag_), 0u);
}

TEST_F(RuntimeTest, LeavesNoProcessOfAFinishedPod) {
  const std::string escaped = "sleep 3" + std::to_string(getpid());
  run(tag_, pod("(setsid env -i sh -c 'touch mark; exec " + escaped + "' &); until test -e mark; do :; done; exit 5"));
  EXPECT_EQ(exit_code(wait_finished()), 5);
  EXPECT_FALSE(runs(escaped));
}

TEST_F(RuntimeTest, UndoRemovesWhatPrepareCreated) {
  runtime_->prepare(tag_, pod("true"), {});
  runtime_->undo(tag_);
  EXPECT_TRUE(runtime_->list().value().empty());
  runtime_->undo({"nobody", {9, 9}});
}

TEST_F(RuntimeTest, UndoEndsAPodThatIsHeldAheadOfItsStart) {
  const pid_t held = hold(tag_, pod("true"));
  runtime_->undo(tag_);
  run_while([&] { return fs::exists("/proc/" + std::to_string(held)); });  // not even as a zombie
  EXPECT_TRUE(runtime_->list().value().empty());
}

}  // namespace
}  // namespace berth
