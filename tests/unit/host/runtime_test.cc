// Pods as real processes. Every wait is for an event on the loop; a pod that hangs fails at kLimit.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/process_runtime.h"
#include "firmware-host/logging.h"
#include "firmware-host/loop.h"
#include "firmware-host/real_clock.h"
#include "tests/unit/host/no_descriptors.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr Millis kLimit = 20000;

struct Event {
  std::string kind;  // "prepared", "status", "stopped"
  Tag tag;
  Status status;
  Json pod_status;
  bool finished = false;
};

class RuntimeTest : public testing::Test, public Runtime::Handler {
 protected:
  RuntimeTest() {
    std::string pattern = fs::temp_directory_path() / "berth-runtime-XXXXXX";
    root_ = mkdtemp(pattern.data());
    node_ = "n" + std::to_string(getpid());
    open_runtime();
  }

  ~RuntimeTest() override {
    if (!runtime_) open_runtime();
    const std::vector<Tag> left = runtime_->list().value();
    for (const Tag& tag : left) stop(tag, 0);
    fs::remove_all(root_);
  }

  void open_runtime() {
    ProcessRuntimeConfig config;
    config.fleet = "test";
    config.node = node_;
    config.root = root_ + "/pods";
    config.offered = {root_ + "/offered"};
    config.backoff = {1, 4, 60000};
    runtime_ = std::make_unique<ProcessRuntime>(config, loop_.context(), clock_, timers_, log_);
    ASSERT_TRUE(runtime_->open().is_success());
    runtime_->set_handler(this);
  }

  void on_prepared(const Tag& tag, Status status) override {
    events_.push_back({"prepared", tag, std::move(status), {}, false});
    loop_.stop();
  }
  void on_status(const Tag& tag, const std::string& status, bool finished) override {
    events_.push_back({"status", tag, {}, Json::parse(status).value(), finished});
    loop_.stop();
  }
  void on_stopped(const Tag& tag) override {
    events_.push_back({"stopped", tag, {}, {}, false});
    loop_.stop();
  }

  // Runs the loop until an event satisfies `matches`; returns it.
  template <class Predicate>
  Event wait_for(Predicate matches) {
    bool late = false;
    Timers::Id limit = timers_.at(clock_.now() + kLimit, [&] {
      late = true;
      loop_.stop();
    });
    for (;;) {
      while (!events_.empty()) {
        Event event = events_.front();
        events_.erase(events_.begin());
        if (!matches(event)) continue;
        timers_.cancel(limit);
        return event;
      }
      EXPECT_TRUE(loop_.run().is_success());
      if (late) break;
    }
    ADD_FAILURE() << "no matching event within the limit";
    return {};
  }
  Event wait_kind(const std::string& kind) {
    return wait_for([&](const Event& event) { return event.kind == kind; });
  }
  Event wait_finished() {
    return wait_for([](const Event& event) { return event.finished; });
  }

  // For conditions without an event: checks again every millisecond.
  template <class Condition>
  void run_while(Condition condition) {
    const Millis limit = clock_.now() + kLimit;
    while (condition()) {
      ASSERT_LT(clock_.now(), limit) << "condition still true at the limit";
      Timers::Id tick = timers_.at(clock_.now() + 1, [&] { loop_.stop(); });
      EXPECT_TRUE(loop_.run().is_success());
      timers_.cancel(tick);
    }
  }

  void stop(const Tag& tag, Millis grace) {
    runtime_->stop(tag, grace);
    wait_for([&](const Event& event) { return event.kind == "stopped" && event.tag == tag; });
  }

  static std::string pod(const std::string& script, const std::string& policy = "Never", const std::string& more = "") {
    Json command = Json::array();
    for (const std::string& text : {std::string("sh"), std::string("-c"), script}) command.push_back(Json(text));
    return R"({"metadata":{"name":"p","namespace":"default"},"spec":{"restartPolicy":")" + policy + R"(",)" + more +
           R"("containers":[{"name":"main","image":"i","command":)" + command.dump() + "}]}}";
  }

  void start(const Tag& tag, const std::string& manifest, const std::vector<BoundVolume>& volumes = {}) {
    runtime_->prepare(tag, manifest, volumes);
    const Event prepared = wait_kind("prepared");
    ASSERT_TRUE(prepared.status.is_success()) << prepared.status.message();
    const Result<std::string> handle = runtime_->start(tag, manifest, volumes);
    ASSERT_TRUE(handle.has_value()) << handle.error().message();
    handle_ = *handle;
  }
  void run(const Tag& tag, const std::string& manifest, const std::vector<BoundVolume>& volumes = {}) {
    start(tag, manifest, volumes);
    runtime_->go(tag);
  }

  // A pod whose init container runs `before`, so that a status shows when its script starts.
  static std::string after_init(const std::string& before, const std::string& script) {
    Json command = Json(before);
    return pod(script, "Never",
               R"("initContainers":[{"name":"first","command":["sh","-c",)" + command.dump() + R"(]}],)");
  }
  Event wait_running() {
    return wait_for([](const Event& event) {
      return event.kind == "status" && event.pod_status.find("phase")->as_string() == "Running";
    });
  }

  std::string directory(const Tag& tag) const { return root_ + "/pods/" + tag.uid + "@" + to_text(tag.epoch); }
  std::string read(const std::string& path) const {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string output(const Tag& tag) const { return read(directory(tag) + "/main.log"); }
  pid_t keeper() const { return static_cast<pid_t>(std::strtol(handle_.c_str(), nullptr, 10)); }
  std::size_t alive(const Tag& tag) const { return find_tagged(tag_text("test", node_, tag)).value().size(); }

  // True if a process has this command line.
  bool runs(std::string command) const {
    for (char& c : command) c = c == ' ' ? '\0' : c;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      if (read(entry.path().string() + "/cmdline") == command + '\0') return true;
    }
    return false;
  }

  static const Json& container(const Event& event, std::size_t i = 0) {
    return event.pod_status.find("containerStatuses")->as_array().at(i);
  }
  static std::int64_t exit_code(const Event& event) {
    const Json* ended = container(event).find("state")->find("terminated");
    return ended == nullptr ? -1 : ended->find("exitCode")->as_int();
  }
  static std::string phase(const Event& event) { return event.pod_status.find("phase")->as_string(); }

  const Tag tag_{"u1", {1, 5}};
  std::string root_;
  std::string node_;
  std::string handle_;
  std::vector<Event> events_;
  RealClock clock_;
  Timers timers_;
  SpdLog log_{Level::error, LogFormat::text};
  EventLoop loop_{clock_, timers_};
  std::unique_ptr<ProcessRuntime> runtime_;
};

TEST_F(RuntimeTest, RunsAPodAndKeepsItsOutput) {
  run(tag_, pod("echo out; echo err >&2; echo $BERTH_POD_NAME $BERTH_TAG; env | grep -c ^SECRET_"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Failed");  // grep found none
  EXPECT_EQ(exit_code(end), 1);
  EXPECT_EQ(output(tag_), "out\nerr\np test/" + node_ + "/u1/1.5\n0\n");
}

TEST_F(RuntimeTest, ReportsSuccessWithExitCodeAndTimes) {
  run(tag_, pod("exit 0"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Succeeded");
  const Json* ended = container(end).find("state")->find("terminated");
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->find("reason")->as_string(), "Completed");
  EXPECT_TRUE(ended->find("startedAt")->as_string().ends_with("Z"));
  EXPECT_EQ(container(end).find("restartCount")->as_int(), 0);
}

TEST_F(RuntimeTest, ReportsTheSignalThatEndedAContainer) {
  run(tag_, pod("kill -9 $$$$"));
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 137);
  EXPECT_EQ(container(end).find("state")->find("terminated")->find("signal")->as_int(), 9);
}

TEST_F(RuntimeTest, HoldsAPodUntilGo) {
  const std::string mark = root_ + "/mark";
  start(tag_, pod("touch " + mark));
  // Meanwhile another pod runs to its end.
  const Tag other{"u2", {1, 6}};
  run(other, pod("true"));
  wait_finished();
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_EQ(runtime_->list().value(), (std::vector<Tag>{tag_, other}));
  runtime_->go(tag_);
  runtime_->go(tag_);
  EXPECT_EQ(wait_finished().tag, tag_);
  EXPECT_TRUE(fs::exists(mark));
}

TEST_F(RuntimeTest, RunsInitContainersInOrderBeforeTheOthers) {
  run(tag_, pod("cat order; exit 3", "Never",
                R"("initContainers":[{"name":"a","command":["sh","-c","echo a >> order"]},
                                     {"name":"b","command":["sh","-c","echo b >> order"]}],)"));
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 3);
  EXPECT_EQ(output(tag_), "a\nb\n");
}

TEST_F(RuntimeTest, FailsAPodWhoseInitContainerFails) {
  run(tag_, after_init("exit 4", "echo never"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Failed");
  EXPECT_EQ(end.pod_status.find("initContainerStatuses")
                ->as_array()[0]
                .find("state")
                ->find("terminated")
                ->find("exitCode")
                ->as_int(),
            4);
  EXPECT_EQ(output(tag_), "");
}

TEST_F(RuntimeTest, RestartsAfterFailureUntilItSucceeds) {
  run(tag_, pod("echo x >> tries; test $(wc -l < tries) -ge 3", "OnFailure"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Succeeded");
  EXPECT_EQ(container(end).find("restartCount")->as_int(), 2);
  EXPECT_EQ(container(end).find("lastState")->find("terminated")->find("exitCode")->as_int(), 1);
}

TEST_F(RuntimeTest, RestartsWithPolicyAlwaysEvenAfterSuccess) {
  run(tag_, pod("true", "Always"));
  wait_for([](const Event& event) {
    return event.kind == "status" && container(event).find("restartCount")->as_int() >= 3;
  });
  stop(tag_, 1000);
  EXPECT_TRUE(runtime_->list().value().empty());
}

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

TEST_F(RuntimeTest, FindsRunningPodsWhenAllDirectoriesAreLost) {
  run(tag_, pod("sleep 1000"));
  wait_running();
  const Tag held{"u2", {1, 6}};
  start(held, pod("sleep 1000"));
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
  ProcessRuntimeConfig config;
  config.fleet = "test";
  config.node = node_ + "0";
  config.root = root_ + "/others";
  ProcessRuntime other(config, loop_.context(), clock_, timers_, log_);
  ASSERT_TRUE(other.open().is_success());
  other.set_handler(this);
  EXPECT_TRUE(other.list().value().empty());
  other.stop(tag_, 0);
  wait_kind("stopped");
  EXPECT_EQ(alive(tag_), 1u);
}

TEST_F(RuntimeTest, KeepsOutputBounded) {
  run(tag_, pod("yes 0123456789abcdef | head -c 2000000; echo last"));
  wait_finished();
  const std::string path = directory(tag_) + "/main.log";
  EXPECT_LE(fs::file_size(path), ContainerLog::kFileBytesMax);
  EXPECT_EQ(fs::file_size(path + ".1"), ContainerLog::kFileBytesMax);
  EXPECT_TRUE(output(tag_).ends_with("last\n"));
}

TEST_F(RuntimeTest, RefusesACommandThatDoesNotExistAndLeavesNothing) {
  runtime_->prepare(tag_, R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[
      {"name":"reader","command":["no-such-command"]}]}})",
                    {});
  const Event prepared = wait_kind("prepared");
  EXPECT_TRUE(prepared.status.message().starts_with("container reader: command 'no-such-command' not found"));
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, ReportsAProgramThatCannotBeExecuted) {
  const std::string program = root_ + "/bad";
  std::ofstream(program) << "\x7f"
                            "ELFnonsense";
  fs::permissions(program, fs::perms::owner_all);
  run(tag_, R"({"metadata":{"name":"p","namespace":"d"},"spec":{"restartPolicy":"Never","containers":[
      {"name":"main","command":[")" +
                program + R"("]}]}})");
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 128);
  const Json* ended = container(end).find("state")->find("terminated");
  EXPECT_EQ(ended->find("reason")->as_string(), "StartError");
  EXPECT_TRUE(ended->find("message")->as_string().ends_with("Exec format error"));
}

TEST_F(RuntimeTest, KeepsABoundVolumeAndRemovesAnEmptyDir) {
  const std::string manifest = pod("echo kept > $BERTH_VOLUME_DATA/file; echo gone > $BERTH_VOLUME_TMP/file");
  Json json = Json::parse(manifest).value();
  Json* spec = json.find("spec");
  spec->set("volumes", Json::parse(R"([{"name":"data","persistentVolumeClaim":{"claimName":"c"}},
                                       {"name":"tmp","emptyDir":{}}])")
                           .value());
  spec->find("containers")
      ->as_array()[0]
      .set("volumeMounts",
           Json::parse(R"([{"name":"data","mountPath":"/d"},{"name":"tmp","mountPath":"/t"}])").value());
  const std::string path = root_ + "/offered/pv1";
  run(tag_, json.dump(), {{"default/c", "pv1", path}});
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  const std::string empty_dir = directory(tag_) + "/volumes/tmp/file";
  EXPECT_EQ(read(empty_dir), "gone\n");
  stop(tag_, 0);
  EXPECT_EQ(read(path + "/file"), "kept\n");
  EXPECT_FALSE(fs::exists(empty_dir));
}

TEST_F(RuntimeTest, UndoRemovesWhatPrepareCreatedAndCancelsItsResult) {
  runtime_->prepare(tag_, pod("true"), {});
  runtime_->undo(tag_);
  EXPECT_TRUE(runtime_->list().value().empty());
  runtime_->undo({"nobody", {9, 9}});
  const Tag other{"u2", {1, 6}};
  runtime_->prepare(other, pod("true"), {});
  EXPECT_EQ(wait_kind("prepared").tag, other);
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
  run_while([&] { return alive(tag_) < 3 || output(tag_) != "run\nrun\n"; });
  EXPECT_EQ(alive(tag_), 3u) << "nothing is left of the first run";
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

TEST_F(RuntimeTest, WithoutDescriptorsAWorkloadIsNeitherListedAsGoneNorStartedAgain) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  const std::string mark = root_ + "/mark";
  const std::string manifest = pod("echo started >> " + mark + "; exec sleep 1000");
  run(tag_, manifest);
  wait_running();
  run_while([&] { return read(mark).empty(); });
  runtime_.reset();
  open_runtime();
  {
    const NoDescriptors none;
    EXPECT_FALSE(runtime_->list().has_value());
    EXPECT_EQ(runtime_->start(tag_, manifest, {}).value(), "") << "nobody can tell whether it runs";
    runtime_->go(tag_);
  }
  wait_running();
  EXPECT_EQ(find_keepers(tag_text("test", node_, tag_)).value().size(), 1u);
  EXPECT_EQ(read(mark), "started\n");
}

TEST_F(RuntimeTest, AStartWithoutDescriptorsIsCaughtUpWithOnceThereAreSome) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  const std::string manifest = pod("exit 0");
  runtime_->prepare(tag_, manifest, {});
  wait_kind("prepared");
  {
    const NoDescriptors none;
    EXPECT_EQ(runtime_->start(tag_, manifest, {}).value(), "");
    runtime_->go(tag_);
  }
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
}

TEST_F(RuntimeTest, AStopWithoutDescriptorsEndsOnceTheWorkloadHasBeenFoundAndStopped) {
  if (kNeedsDescriptors) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  run(tag_, pod("exec sleep 1000"));
  wait_running();
  runtime_.reset();
  open_runtime();
  {
    const NoDescriptors none;
    runtime_->stop(tag_, 0);
  }
  wait_kind("stopped");
  EXPECT_EQ(alive(tag_), 0u);
  EXPECT_FALSE(fs::exists(directory(tag_)));
}

TEST_F(RuntimeTest, APodWhoseStateCannotBeReadIsNotStartedAgain) {
  const std::string mark = root_ + "/mark";
  const std::string manifest = pod("echo started >> " + mark);
  run(tag_, manifest);
  wait_finished();
  run_while([&] { return !find_keepers(tag_text("test", node_, tag_)).value().empty(); });
  const std::string state = directory(tag_) + "/" + PodState::kFile;
  fs::rename(state, state + ".away");
  fs::create_directory(state);  // reading it fails with EISDIR
  runtime_.reset();
  open_runtime();
  EXPECT_EQ(runtime_->start(tag_, manifest, {}).value(), "");
  runtime_->go(tag_);
  wait_for([](const Event& event) { return event.kind == "status" && phase(event) == "Pending"; });
  fs::remove(state);
  fs::rename(state + ".away", state);
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
  EXPECT_EQ(read(mark), "started\n");
}

TEST_F(RuntimeTest, ADirectoryOfPodsThatCannotBeReadIsNotAnEmptyOne) {
  runtime_->prepare(tag_, pod("true"), {});
  wait_kind("prepared");
  const std::string pods = root_ + "/pods";
  ASSERT_EQ(chmod(pods.c_str(), 0), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Root may read everything.
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    const Result<std::vector<Tag>> found = runtime_->list();
    _exit(!found && found.error().message().starts_with("cannot read " + pods) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(chmod(pods.c_str(), 0750), 0);
}

TEST_F(RuntimeTest, ARenamedNodeFindsAndStopsWhatItStartedUnderTheOldName) {
  run(tag_, pod("trap '' TERM; while :; do sleep 1000; done"));
  wait_running();
  const Tag held{"u2", {1, 6}};
  start(held, pod("true"));
  const std::string old = node_;
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

// A directory in the place of the file that a state is written to makes every write fail.
TEST_F(RuntimeTest, AnExitStatusThatCannotBeWrittenIsWrittenOnceItCan) {
  const std::string mark = root_ + "/mark";
  const std::string manifest = pod("touch " + mark + "; exit 3");
  start(tag_, manifest);
  const std::string obstacle = directory(tag_) + "/" + PodState::kFile + ".new";
  fs::create_directory(obstacle);
  runtime_->go(tag_);
  run_while([&] { return !fs::exists(mark) || alive(tag_) > 0; });
  EXPECT_EQ(find_keepers(tag_text("test", node_, tag_)).value().size(), 1u) << "the only one who knows the exit status";
  fs::remove(obstacle);
  EXPECT_EQ(exit_code(wait_finished()), 3);
}

TEST_F(RuntimeTest, AKeeperThatCannotWriteTheExitStatusCanBeStopped) {
  const std::string mark = root_ + "/mark";
  start(tag_, pod("touch " + mark));
  fs::create_directory(directory(tag_) + "/" + PodState::kFile + ".new");
  runtime_->go(tag_);
  run_while([&] { return !fs::exists(mark) || alive(tag_) > 0; });
  stop(tag_, 1000);
  EXPECT_TRUE(runtime_->list().value().empty());
}

TEST_F(RuntimeTest, ALostKeeperIsReportedOnceThatCanBeWritten) {
  run(tag_, pod("exec sleep 1000"));
  wait_running();
  const std::string obstacle = directory(tag_) + "/" + PodState::kFile + ".new";
  fs::create_directory(obstacle);
  kill(keeper(), SIGKILL);
  run_while([&] { return alive(tag_) > 0; });
  fs::remove(obstacle);
  EXPECT_EQ(wait_finished().pod_status.find("reason")->as_string(), "KeeperLost");
  EXPECT_TRUE(read_pod_state(directory(tag_)).value().value().finished);
}

TEST(ReplaceFile, SaysWhyAndLeavesTheOldFileAndNothingElse) {
  std::string pattern = fs::temp_directory_path() / "berth-replace-XXXXXX";
  const std::string root = mkdtemp(pattern.data());
  EXPECT_FALSE(replace_file(root, "a", "old", true));
  fs::create_directory(root + "/a.new");
  EXPECT_EQ(replace_file(root, "a", "new", true), std::errc::is_a_directory);
  EXPECT_EQ(replace_file(root + "/none", "a", "new", true), std::errc::no_such_file_or_directory);
  fs::remove(root + "/a.new");
  fs::rename(root + "/a", root + "/b");
  fs::create_directory(root + "/a");
  EXPECT_EQ(replace_file(root, "a", "new", false), std::errc::is_a_directory);
  EXPECT_FALSE(fs::exists(root + "/a.new"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace berth
