// Probes of real containers by the real keeper. Periods are of a second, the shortest that a manifest can ask for.
#include "tests/unit/host/probe_server.h"
#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

class RuntimeProbesTest : public RuntimeTest {
 protected:
  // `probes`: members of the container.
  static std::string probed(const std::string& script, const std::string& probes, const std::string& policy = "Always",
                            const std::string& more = "") {
    Json json = Json::parse(pod(script, policy, more)).value();
    Json& container = json.find("spec")->find("containers")->as_array()[0];
    const Json members = Json::parse("{" + probes + "}").value();
    for (const auto& [key, value] : members.as_object()) container.set(key, value);
    return json.dump();
  }
  // Of one second, and with a command of the shell.
  static std::string exec(const std::string& kind, const std::string& command, const std::string& more = "") {
    Json quoted = Json(command);
    return "\"" + kind + R"(":{"exec":{"command":["sh","-c",)" + quoted.dump() + R"(]},"periodSeconds":1)" + more + "}";
  }
  static bool has(const Event& event, const char* member, bool value) {
    return event.kind == "status" && container(event).find("state")->find("running") != nullptr &&
           *container(event).find(member) == Json(value);
  }
  Event wait_ready(bool value) {
    return wait_for([&](const Event& event) { return has(event, "ready", value); });
  }
  Event wait_restart(int count) {
    return wait_for([&](const Event& event) {
      return event.kind == "status" && container(event).find("restartCount")->as_int() >= count;
    });
  }
  static std::string last_message(const Event& event) {
    const Json* last = container(event).find("lastState")->find("terminated");
    return last == nullptr ? "" : last->string_at("message");
  }
};

TEST_F(RuntimeProbesTest, AContainerIsReadyAsItsReadinessProbeSays) {
  const std::string mark = root_ + "/mark";
  run(tag_, probed("exec sleep 1000", exec("readinessProbe", "test -e " + mark, R"(,"failureThreshold":1)")));
  EXPECT_TRUE(has(wait_ready(false), "started", true));
  std::ofstream(mark) << "x";
  wait_ready(true);
  fs::remove(mark);
  const Event unready = wait_ready(false);
  EXPECT_EQ(*container(unready).find("restartCount"), Json(0)) << "it is not killed for it";
  stop(tag_, 1000);
}

TEST_F(RuntimeProbesTest, AContainerThatFailsItsLivenessProbeIsKilledAndStartedAgain) {
  run(tag_,
      probed("echo up; exec sleep 1000", exec("livenessProbe", "echo broken; exit 1", R"(,"failureThreshold":1)")));
  const Event again = wait_restart(1);
  EXPECT_EQ(last_message(again),
            "Container main failed liveness probe, will be restarted: Liveness probe failed: broken\n");
  const Json* last = container(again).find("lastState")->find("terminated");
  EXPECT_EQ(*last->find("exitCode"), Json(143)) << "by SIGTERM";
  EXPECT_EQ(last->string_at("reason"), "Error");
  run_while([&] { return !output(tag_).starts_with("up\nup\n"); });
  stop(tag_, 1000);
}

TEST_F(RuntimeProbesTest, AFailedCheckAndTheKillForItAreEventsOfThePod) {
  run(tag_, probed("exec sleep 1000", exec("livenessProbe", "echo broken; exit 1", R"(,"failureThreshold":1)")));
  const Event again = wait_restart(1);
  std::string told;
  for (const Json& event : again.pod_status.find("events")->as_array()) {
    told += event.string_at("type") + " " + event.string_at("reason") + ": " + event.string_at("message") + "|";
  }
  EXPECT_EQ(
      told,
      "Warning Unhealthy: Liveness probe failed: broken\n| Killing: Container main failed liveness probe, will be "
      "restarted|");
  stop(tag_, 0);
}

TEST_F(RuntimeProbesTest, WhatIsKilledForAProbeIsStartedAgainEvenIfItExitsWithZero) {
  run(tag_, probed("trap 'exit 0' TERM; while :; do sleep 0.05; done",
                   exec("livenessProbe", "exit 1", R"(,"failureThreshold":1)"), "OnFailure"));
  EXPECT_EQ(*container(wait_restart(1)).find("lastState")->find("terminated")->find("exitCode"), Json(0));
  stop(tag_, 0);
}

TEST_F(RuntimeProbesTest, WithRestartPolicyNeverItEndsThere) {
  run(tag_, probed("exec sleep 1000", exec("livenessProbe", "exit 3", R"(,"failureThreshold":1)"), "Never"));
  const Event end = wait_finished();
  EXPECT_EQ(phase(end), "Failed");
  EXPECT_EQ(container(end).find("state")->find("terminated")->string_at("message"),
            "Container main failed liveness probe: Liveness probe failed: command exited with 3");
}

TEST_F(RuntimeProbesTest, TheGracePeriodOfAProbeIsThatOfTheKill) {
  run(tag_, probed("trap '' TERM; while :; do sleep 1000; done",
                   exec("livenessProbe", "exit 1", R"(,"failureThreshold":1,"terminationGracePeriodSeconds":1)"),
                   "Never", R"("terminationGracePeriodSeconds":3600,)"));
  EXPECT_EQ(exit_code(wait_finished()), 137);
}

TEST_F(RuntimeProbesTest, AProbeThatHangsIsCutAndItsProcessesWithIt) {
  const std::string hangs = "sleep 4" + std::to_string(getpid());
  run(tag_, probed("exec sleep 1000", exec("livenessProbe", hangs + " & wait", R"(,"failureThreshold":1)"), "Never"));
  const std::string message = container(wait_finished()).find("state")->find("terminated")->string_at("message");
  EXPECT_TRUE(message.ends_with("Liveness probe failed: command \"sh -c " + hangs + " & wait\" timed out after 1s"))
      << message;
  EXPECT_FALSE(runs(hangs));
}

TEST_F(RuntimeProbesTest, AProbeThatFloodsItsOutputIsCutAndNothingElseWaits) {
  run(tag_, probed("exec sleep 1000", exec("livenessProbe", "yes", R"(,"failureThreshold":1)"), "Never"));
  const Event end = wait_finished();
  EXPECT_TRUE(container(end).find("state")->find("terminated")->string_at("message").ends_with("timed out after 1s"));
}

TEST_F(RuntimeProbesTest, OfALongOutputTheBeginningIsTold) {
  run(tag_, probed("exec sleep 1000",
                   exec("livenessProbe", "yes | head -c 1000000; exit 1", R"(,"failureThreshold":1)"), "Never"));
  const std::string message = container(wait_finished()).find("state")->find("terminated")->string_at("message");
  EXPECT_TRUE(message.contains("Liveness probe failed: y\ny\n"));
  EXPECT_LT(message.size(), 1200u);
}

TEST_F(RuntimeProbesTest, ACommandThatIsNotThereSaysNothingOfTheContainer) {
  const std::string mark = root_ + "/mark";
  run(tag_,
      probed("exec sleep 1000",
             R"("livenessProbe":{"exec":{"command":["no-such-command"]},"periodSeconds":1,"failureThreshold":1},)" +
                 exec("readinessProbe", "echo >> " + mark + "; test $(wc -l < " + mark + ") -ge 3")));
  EXPECT_EQ(*container(wait_ready(true)).find("restartCount"), Json(0));
  stop(tag_, 1000);
}

TEST_F(RuntimeProbesTest, TheOtherProbesWaitForStartup) {
  const std::string mark = root_ + "/mark";
  const std::string early = root_ + "/early";
  const std::string tries = root_ + "/tries";
  run(tag_, probed("exec sleep 1000",
                   exec("startupProbe", "echo >> " + tries + "; test -e " + mark, R"(,"failureThreshold":1000)") + "," +
                       exec("livenessProbe", "test -e " + mark + " || touch " + early) + "," +
                       exec("readinessProbe", "test -e " + mark + " || touch " + early)));
  const Event running = wait_running();
  EXPECT_TRUE(has(running, "started", false));
  EXPECT_TRUE(has(running, "ready", false));
  run_while([&] { return read(tries).size() < 2; });
  std::ofstream(mark) << "x";
  EXPECT_TRUE(has(wait_ready(true), "started", true));
  EXPECT_FALSE(fs::exists(early));
  stop(tag_, 1000);
}

TEST_F(RuntimeProbesTest, AContainerThatDoesNotStartInTimeIsKilled) {
  run(tag_, probed("exec sleep 1000", exec("startupProbe", "exit 1", R"(,"failureThreshold":2)"), "Never"));
  EXPECT_EQ(container(wait_finished()).find("state")->find("terminated")->string_at("message"),
            "Container main failed startup probe: Startup probe failed: command exited with 1");
}

TEST_F(RuntimeProbesTest, ContainersWaitUntilASidecarHasStarted) {
  const std::string mark = root_ + "/mark";
  run(tag_, pod("test -e " + mark, "Never",
                R"("initContainers":[{"name":"s","restartPolicy":"Always","command":["sleep","1000"],)" +
                    exec("startupProbe", "test -e " + mark, R"(,"failureThreshold":1000)") + "}],"));
  wait_for([](const Event& event) {
    if (event.kind != "status") return false;
    const Json& sidecar = event.pod_status.find("initContainerStatuses")->as_array().at(0);
    return sidecar.find("state")->find("running") != nullptr && *sidecar.find("started") == Json(false);
  });
  std::ofstream(mark) << "x";
  EXPECT_EQ(phase(wait_finished()), "Succeeded");
}

TEST_F(RuntimeProbesTest, AServerThatStopsAnsweringIsFoundByAnHttpProbe) {
  ProbeServer server([](int fd) {
    ProbeServer::request(fd);
    ProbeServer::send(fd, "HTTP/1.1 200 OK\r\n\r\n");
  });
  const std::string port = std::to_string(server.port());
  run(tag_, probed("exec sleep 1000",
                   R"("ports":[{"name":"web","containerPort":)" + port +
                       R"(}],"readinessProbe":{"httpGet":{"port":"web"},"periodSeconds":1,"failureThreshold":1},)"
                       R"("livenessProbe":{"tcpSocket":{"port":"web"},"periodSeconds":1,"failureThreshold":1})"));
  wait_ready(true);
  server.end();
  EXPECT_EQ(last_message(wait_restart(1)),
            "Container main failed liveness probe, will be restarted: Liveness probe failed: dial tcp 127.0.0.1:" +
                port + ": connect: Connection refused");
  stop(tag_, 1000);
}

TEST_F(RuntimeProbesTest, AServerThatNeverAnswersFailsAtTheTimeout) {
  const ProbeServer server(nullptr);
  run(tag_, probed("exec sleep 1000",
                   R"("livenessProbe":{"httpGet":{"port":)" + std::to_string(server.port()) +
                       R"(},"periodSeconds":1,"failureThreshold":1})",
                   "Never"));
  const std::string message = container(wait_finished()).find("state")->find("terminated")->string_at("message");
  EXPECT_TRUE(message.contains("context deadline exceeded")) << message;
}

TEST_F(RuntimeProbesTest, APodThatIsBeingStoppedIsProbedNoMore) {
  const std::string stopping = root_ + "/stopping";
  const std::string late = root_ + "/late";
  const std::string ready = root_ + "/ready";
  run(tag_,
      probed("trap 'touch " + stopping + "; sleep 1.5; exit 0' TERM; touch " + ready + "; while :; do sleep 0.05; done",
             exec("livenessProbe", "test ! -e " + stopping + " || touch " + late)));
  run_while([&] { return !fs::exists(ready); });
  stop(tag_, 30000);
  EXPECT_TRUE(fs::exists(stopping));
  EXPECT_FALSE(fs::exists(late));
}

}  // namespace
}  // namespace berth
