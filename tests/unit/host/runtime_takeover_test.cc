// Pods that outlive the agent, their directories, their keeper, or the name of the node.
#include <sys/wait.h>

#include <csignal>

#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

TEST_F(RuntimeTest, APodOutlivesTheAgentAndIsTakenOver) {
  const std::string fifo = root_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string manifest = pod("read line < " + fifo + "; echo got $line; exit 7");
  run(tag_, manifest);
  wait_running();
  const std::string handle = handle_;
  runtime_.reset();
  open_runtime();
  EXPECT_EQ(runtime_->list().value(), std::vector<Tag>{tag_});
  ASSERT_EQ(runtime_->start(tag_, manifest, {}).value(), handle);
  runtime_->go(tag_);
  std::ofstream(fifo) << "hello\n";
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 7);
  EXPECT_EQ(output(tag_), "got hello\n");
}

TEST_F(RuntimeTest, APodThatIsHeldAheadOfItsStartOutlivesTheAgentAndIsTakenOver) {
  const std::string manifest = pod("exit 3");
  const pid_t held = hold(tag_, manifest);
  open_runtime();
  EXPECT_EQ(runtime_->list().value(), std::vector<Tag>{tag_});
  run(tag_, manifest);
  EXPECT_EQ(keeper(), held);
  EXPECT_EQ(exit_code(wait_finished()), 3);
}

// A keeper as an agent leaves it that is killed right after the fork.
HeldKeeper held_behind_the_back(const std::string& node, const std::string& root, const Tag& tag) {
  KeeperPlan plan;
  plan.workload.tag = tag_text("test", node, tag);
  plan.workload.owner = owner_of(root);
  plan.directory = root;
  Result<HeldKeeper> keeper = fork_keeper(plan);
  EXPECT_TRUE(keeper.has_value());
  keeper->tagged.wait();
  return std::move(*keeper);
}

TEST_F(RuntimeTest, AHeldKeeperThatGotItsTagAfterTheSearchIsKilledAndThoseOfPodsAreNot) {
  const Tag inherited{"u2", {1, 6}}, late{"u3", {1, 7}};
  const pid_t kept = hold(inherited, pod("exit 3"));
  open_runtime();
  EXPECT_EQ(runtime_->list().value(), std::vector<Tag>{inherited});
  const HeldKeeper straggler = held_behind_the_back(node_, root_ + "/pods", late);
  runtime_->prepare(tag_, pod("exit 4"), {});
  run_while([&] { return !has_exited(straggler.process.pidfd) || keepers(tag_).empty(); });
  EXPECT_EQ(keepers(inherited), std::vector<pid_t>{kept});
  EXPECT_EQ(keepers(tag_).size(), 1u);
  collect_exit(straggler.process.pidfd);
  close(straggler.process.pidfd);
}

TEST_F(RuntimeTest, ReportsAPodThatEndedWithoutTheAgent) {
  const std::string manifest = pod("exit 6");
  start(tag_, manifest);
  const std::string handle = handle_;
  runtime_->go(tag_);
  runtime_.reset();
  run_while([&] { return !find_keepers(tag_text("test", node_, tag_)).value().empty(); });
  open_runtime();
  EXPECT_EQ(runtime_->start(tag_, manifest, {}).value(), handle);
  EXPECT_EQ(exit_code(wait_finished()), 6);
}

// How often a process has read something: a start searched all processes of the machine, twice.
std::size_t reads_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/io");
  std::string name;
  std::size_t count = 0;
  while (file >> name >> count) {
    if (name == "syscr:") return count;
  }
  ADD_FAILURE() << "process " << process << " has no count of reads";
  return 0;
}

TEST_F(RuntimeTest, TheCostOfAStartDoesNotGrowWithTheProcessesOfTheMachine) {
  std::vector<pid_t> others;
  for (int i = 0; i < 100; ++i) {
    others.push_back(fork());
    if (others.back() == 0) {
      pause();
      _exit(0);
    }
  }
  EXPECT_TRUE(runtime_->list().value().empty());
  const std::size_t before = reads_of("self");
  run(tag_, pod("sleep 1000"));
  wait_running();
  EXPECT_LT(reads_of("self") - before, others.size());
  EXPECT_LT(reads_of(handle_.substr(0, handle_.find(':'))), others.size());
  for (const pid_t other : others) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
}

TEST_F(RuntimeTest, FindsRunningPodsWhenAllDirectoriesAreLost) {
  run(tag_, pod("sleep 1000"));
  wait_running();
  const Tag held{"u2", {1, 6}};
  start(held, pod("sleep 1000"));
  run_while([&] { return keepers(held).empty(); });  // it has its tag a moment after it was forked
  runtime_.reset();
  fs::remove_all(root_ + "/pods");
  open_runtime();
  EXPECT_EQ(runtime_->list().value(), (std::vector<Tag>{tag_, held}));
  stop(tag_, 0);
  stop(held, 0);
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, IgnoresTheWorkloadsOfAnotherAgent) {
  run(tag_, pod("exec sleep 1000"));
  wait_running();
  KeeperRuntimeConfig config;
  config.fleet = "test";
  config.node = node_ + "0";
  config.root = root_ + "/other-agent/pods";
  KeeperRuntime other(config, loop_.context(), clock_, timers_, log_);
  ASSERT_TRUE(other.open().is_success());
  other.set_handler(this);
  EXPECT_TRUE(other.list().value().empty());
  other.stop(tag_, 0);
  wait_kind("stopped");
  EXPECT_EQ(alive(tag_), 1u);
}

TEST_F(RuntimeTest, GivesAPodANewKeeperWhenItsKeeperIsKilled) {
  run(tag_, pod("echo run; sleep 1000 & sleep 1001 & wait", "Always"));
  wait_running();
  run_while([&] { return alive(tag_) < 3 || output(tag_) != "run\n"; });
  kill(keeper(), SIGKILL);
  const Event again = wait_for([](const Event& event) {
    return event.kind == "status" && container(event).find("restartCount")->as_int() == 1 &&
           container(event).find("state")->find("running") != nullptr;
  });
  EXPECT_EQ(phase(again), "Running");
  const Json* last = container(again).find("lastState")->find("terminated");
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->string_at("reason"), "ContainerStatusUnknown");
  EXPECT_EQ(*last->find("exitCode"), Json(137));
  run_while([&] { return alive(tag_) < 3 || output(tag_) != "run\nrun\n"; });
  EXPECT_EQ(alive(tag_), 3u) << "nothing is left of the first run";
}

TEST_F(RuntimeTest, CountsOnAcrossAKeeperThatIsKilledWhileAContainerWaits) {
  longest_backoff_ms_ = 60'000;  // it waits longer each time, so that the keeper dies before it runs again
  open_runtime();
  run(tag_, pod("exit 4", "Always"));
  const auto is_waiting = [](const Event& event, int least) {
    return event.kind == "status" && container(event).find("restartCount")->as_int() >= least &&
           container(event).find("state")->find("waiting") != nullptr;
  };
  wait_for([&](const Event& event) { return is_waiting(event, 9); });  // 2^9 ms
  kill(keeper(), SIGKILL);
  const Event after = wait_for([&](const Event& event) { return is_waiting(event, 10); });
  EXPECT_EQ(*container(after).find("lastState")->find("terminated")->find("exitCode"), Json(4));
}

TEST_F(RuntimeTest, APodWhoseKeeperDiedIsDelayedWhileItsDiskIsMissingAndItsRestartsCount) {
  const std::string path = root_ + "/pv1";
  fs::create_directory(path);
  const std::string mark = root_ + "/mark";
  const std::string manifest = with_volumes(pod("test -e " + mark + " && exec sleep 1000; touch " + mark, "Always"));
  const std::vector<BoundVolume> volumes = {{"default/c", "pv1", path}};
  run(tag_, manifest, volumes);
  const auto runs_again = [](const Event& event, int restarts) {
    return event.kind == "status" && container(event).find("state")->find("running") != nullptr &&
           *container(event).find("restartCount") == Json(restarts);
  };
  wait_for([&](const Event& event) { return runs_again(event, 1); });
  fs::remove(path);
  kill(keeper(), SIGKILL);
  const auto expect_delayed = [&](const Event& delayed) {
    EXPECT_EQ(phase(delayed), "Pending");
    EXPECT_TRUE(delayed.pod_status.string_at("message").starts_with("volume pv1: directory " + path));
    EXPECT_EQ(*container(delayed).find("ready"), Json(false));
    EXPECT_EQ(*container(delayed).find("restartCount"), Json(1));
    EXPECT_EQ(exit_code(delayed), 137);
  };
  expect_delayed(wait_delayed());
  runtime_.reset();
  open_runtime();
  EXPECT_EQ(runtime_->start(tag_, manifest, volumes).value(), "");
  runtime_->go(tag_);
  events_.clear();
  expect_delayed(wait_delayed());
  fs::create_directory(path);
  wait_for([&](const Event& event) { return runs_again(event, 2); });
}

TEST_F(RuntimeTest, APodOfPolicyNeverWhoseKeeperDiedWhileItWasHeldStillRuns) {
  const std::string manifest = pod("exit 3");
  const pid_t held = hold(tag_, manifest);
  kill(held, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(held), &ended, WEXITED | WNOWAIT), 0);
  run(tag_, manifest);  // before the loop has seen that it died
  EXPECT_EQ(exit_code(wait_finished()), 3);
}

TEST_F(RuntimeTest, FailsAPodOfPolicyNeverWhenItsKeeperIsKilled) {
  run(tag_, pod("sleep 1000 & sleep 1001 & wait"));
  wait_running();
  kill(keeper(), SIGKILL);
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Failed");
  EXPECT_EQ(end.pod_status.find("reason")->as_string(), "KeeperLost");
  EXPECT_EQ(exit_code(end), 137);
  EXPECT_EQ(alive(tag_), 0u);
}

TEST_F(RuntimeTest, ARenamedNodeFindsAndStopsWhatItStartedUnderTheOldName) {
  run(tag_, pod("trap '' TERM; while :; do sleep 1000; done"));
  wait_running();
  const Tag held{"u2", {1, 6}};
  start(held, pod("true"));
  const std::string old = node_;
  run_while([&] { return keepers(held).empty(); });  // it has its tag a moment after it was forked
  runtime_.reset();
  fs::remove_all(root_ + "/pods");  // and the store is lost too
  node_ += "-renamed";
  open_runtime();
  EXPECT_EQ(runtime_->list().value(), (std::vector<Tag>{tag_, held}));
  stop(tag_, 0);
  stop(held, 0);
  EXPECT_EQ(find_keepers("test/" + old + "/").value().size(), 0u);
  EXPECT_EQ(find_tagged("test/" + old + "/").value().size(), 0u);
  EXPECT_TRUE(runtime_->list().value().empty());
}

}  // namespace
}  // namespace berth
