// Hooks of real containers and the deadline of pods, by the real keeper.
#include "tests/unit/host/probe_server.h"
#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

class RuntimeLifecycleTest : public RuntimeTest {
 protected:
  static std::string exec(const std::string& command) {
    return R"({"exec":{"command":["sh","-c",)" + Json(command).dump() + "]}}";
  }
  // `hooks`: members of lifecycle.
  static std::string hooked(const std::string& script, const std::string& hooks, const std::string& policy = "Always",
                            const std::string& more = "") {
    Json json = Json::parse(pod(script, policy, more)).value();
    json.find("spec")->find("containers")->as_array()[0].set("lifecycle", Json::parse("{" + hooks + "}").value());
    return json.dump();
  }
  static std::string waiting_reason(const Event& event) {
    const Json* waiting = container(event).find("state")->find("waiting");
    return waiting == nullptr ? "" : waiting->string_at("reason");
  }
};

TEST_F(RuntimeLifecycleTest, AContainerRunsOnceItsPostStartHasSucceededAndTheNextIsStartedThen) {
  const std::string mark = root_ + "/mark";
  Json json = Json::parse(hooked("exec sleep 1000",
                                 R"("postStart":)" + exec("until test -e " + mark + "; do sleep 0.05; done")))
                  .value();
  json.find("spec")
      ->find("containers")
      ->as_array()
      .push_back(Json::parse(R"({"name":"other","command":["sleep","1000"]})").value());
  start(tag_, json.dump());
  runtime_->go(tag_);
  run_while([&] { return alive(tag_) < 2; });  // the container and its hook, which a shell may wait in by itself
  const Event creating = wait_kind("status");
  EXPECT_EQ(phase(creating), "Pending");
  EXPECT_EQ(waiting_reason(creating), "ContainerCreating");
  EXPECT_NE(container(creating, 1).find("state")->find("waiting"), nullptr) << "it waits for the hook of the first";
  std::ofstream(mark) << "x";
  const Event running = wait_for(
      [](const Event& event) { return event.kind == "status" && *container(event, 1).find("ready") == Json(true); });
  EXPECT_EQ(*container(running).find("ready"), Json(true));
  EXPECT_EQ(phase(running), "Running");
  stop(tag_, 1000);
}

TEST_F(RuntimeLifecycleTest, AContainerWhosePostStartFailsIsKilled) {
  run(tag_, hooked("exec sleep 1000", R"("postStart":)" + exec("echo no use; exit 1"), "Never"));
  const Event end = wait_finished();
  const Json* ended = container(end).find("state")->find("terminated");
  EXPECT_EQ(ended->string_at("reason"), "FailedPostStartHook");
  EXPECT_EQ(ended->string_at("message"), "PostStartHook failed: no use\n");
  EXPECT_EQ(exit_code(end), 143);
}

TEST_F(RuntimeLifecycleTest, APostStartWhoseCommandIsMissingOrWhosePortIsClosedHasFailed) {
  ProbeServer server(nullptr);
  server.end();
  for (const std::string& hook : {std::string(R"({"exec":{"command":["no-such-command"]}})"),
                                  R"({"httpGet":{"port":)" + std::to_string(server.port()) + "}}"}) {
    const Tag tag{"u-" + std::to_string(hook.size()), {1, 7}};
    run(tag, hooked("exec sleep 1000", R"("postStart":)" + hook, "Never"));
    const Event end = wait_finished();
    EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("reason"), "FailedPostStartHook") << hook;
  }
}

TEST_F(RuntimeLifecycleTest, AContainerThatEndsDuringItsPostStartTakesTheHookAlong) {
  const std::string hangs = "sleep 5" + std::to_string(getpid());
  const std::string mark = root_ + "/mark";
  run(tag_, hooked("until test -e " + mark + "; do sleep 0.05; done; exit 7",
                   R"("postStart":)" + exec("touch " + mark + "; " + hangs + " & wait"), "Never"));
  const Event end = wait_finished();
  EXPECT_EQ(exit_code(end), 7);
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("reason"), "Error");
  EXPECT_FALSE(runs(hangs));
}

TEST_F(RuntimeLifecycleTest, PreStopRunsBeforeTheContainerIsTold) {
  const std::string said = root_ + "/said";
  run(tag_, hooked("trap 'echo told >> " + said + "; exit 0' TERM; touch ../ready; while :; do sleep 0.05; done",
                   R"("preStop":)" + exec("sleep 0.2; echo preStop >> " + said)));
  wait_running();
  run_while([&] { return !fs::exists(directory(tag_) + "/ready"); });
  stop(tag_, 30000);
  EXPECT_EQ(read(said), "preStop\ntold\n");
}

TEST_F(RuntimeLifecycleTest, APreStopLongerThanTheGracePeriodIsCutAndTheContainerIsStillTold) {
  const std::string said = root_ + "/said";
  const std::string hangs = "sleep 6" + std::to_string(getpid());
  run(tag_,
      hooked("trap 'sleep 0.3; echo told >> " + said + "; exit 0' TERM; touch ../ready; while :; do sleep 0.05; done",
             R"("preStop":)" + exec("echo preStop >> " + said + "; " + hangs + " & wait")));
  wait_running();
  run_while([&] { return !fs::exists(directory(tag_) + "/ready"); });
  runtime_->stop(tag_, 100);
  run_while([&] { return read(said).empty(); });
  wait_kind("stopped");
  EXPECT_EQ(read(said), "preStop\ntold\n") << "it has two seconds to end, though the grace period is over";
  EXPECT_FALSE(runs(hangs));
}

TEST_F(RuntimeLifecycleTest, AContainerThatDoesNotEndAfterPreStopIsKilled) {
  run(tag_, hooked("trap '' TERM; touch ../ready; while :; do sleep 1000; done", R"("preStop":)" + exec("exit 1")));
  wait_running();
  run_while([&] { return !fs::exists(directory(tag_) + "/ready"); });
  stop(tag_, 100);
  EXPECT_EQ(alive(tag_), 0u);
}

TEST_F(RuntimeLifecycleTest, WithoutAGracePeriodThereIsNoPreStop) {
  const std::string mark = root_ + "/mark";
  run(tag_, hooked("exec sleep 1000", R"("preStop":)" + exec("touch " + mark)));
  wait_running();
  stop(tag_, 0);
  EXPECT_FALSE(fs::exists(mark));
}

TEST_F(RuntimeLifecycleTest, PreStopMaySleepOrAskAServerWhateverThatAnswers) {
  const ProbeServer server([](int fd) {
    ProbeServer::request(fd);
    ProbeServer::send(fd, "HTTP/1.1 500 Bad\r\n\r\n");
  });
  for (const std::string& hook :
       {std::string(R"({"sleep":{"seconds":1}})"), R"({"httpGet":{"port":)" + std::to_string(server.port()) + "}}"}) {
    const Tag tag{"u-" + std::to_string(hook.size()), {1, 7}};
    run(tag, hooked("exec sleep 1000", R"("preStop":)" + hook));
    wait_running();
    stop(tag, 30000);
    EXPECT_EQ(alive(tag), 0u);
  }
}

TEST_F(RuntimeLifecycleTest, APodEndsAtItsDeadline) {
  run(tag_, pod("exec sleep 1000", "Always", R"("activeDeadlineSeconds":1,)"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Failed");
  EXPECT_EQ(end.pod_status.string_at("reason"), "DeadlineExceeded");
  EXPECT_EQ(end.pod_status.string_at("message"), "Pod was active on the node longer than the specified deadline");
  EXPECT_EQ(exit_code(end), 143);
}

TEST_F(RuntimeLifecycleTest, ADeadlineEndsAPodThatIsInItsInitContainersOrCrashes) {
  run(tag_,
      pod("true", "Never", R"("activeDeadlineSeconds":1,"initContainers":[{"name":"i","command":["sleep","1000"]}],)"));
  EXPECT_EQ(wait_finished().pod_status.string_at("reason"), "DeadlineExceeded");
  longest_backoff_ms_ = 3'600'000;
  open_runtime();
  const Tag other{"u2", {1, 6}};
  run(other, pod("exit 1", "Always", R"("activeDeadlineSeconds":1,)"));
  EXPECT_EQ(
      wait_for([&](const Event& event) { return event.finished && event.tag == other; }).pod_status.string_at("reason"),
      "DeadlineExceeded");
}

TEST_F(RuntimeLifecycleTest, ADeadlineCountsOnWhenThePodGetsAnotherKeeper) {
  run(tag_, pod("exec sleep 1000", "Always", R"("activeDeadlineSeconds":1000,)"));
  const Event first = wait_running();
  const auto since = [this] {
    const Result<Json> state = Json::parse(read(directory(tag_) + "/state.json"));
    return state && state->find("activeSince") != nullptr ? state->find("activeSince")->as_int() : 0;
  };
  const std::int64_t before = since();
  EXPECT_GT(before, 0);
  kill(keeper(), SIGKILL);
  const Event again = wait_for([](const Event& event) {
    return event.kind == "status" && container(event).find("restartCount")->as_int() == 1 &&
           container(event).find("state")->find("running") != nullptr;
  });
  EXPECT_EQ(since(), before);
  EXPECT_EQ(again.pod_status.string_at("startTime"), first.pod_status.string_at("startTime"));
  stop(tag_, 1000);
}

}  // namespace
}  // namespace berth
