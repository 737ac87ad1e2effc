// Probes as manifests say them.
#include "firmware-host/agent/probe_plan.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

const std::vector<std::pair<std::string, std::string>> kVariables{{"A", "value"}};

Result<std::map<ProbeKind, ProbePlan>> plans_of(const std::string& probe, const HttpsClient& https = {}) {
  const Json container =
      Json::parse(R"({"name":"c","ports":[{"name":"web","containerPort":8080}],"livenessProbe":)" + probe + "}")
          .value();
  return plan_probes({container, kVariables, https}, "spec.containers[0]");
}

ProbePlan liveness(const std::string& probe) {
  const Result<std::map<ProbeKind, ProbePlan>> plans = plans_of(probe);
  EXPECT_TRUE(plans.has_value()) << plans.error().message();
  EXPECT_TRUE(plans && plans->contains(ProbeKind::liveness));
  return plans->at(ProbeKind::liveness);
}

TEST(ProbePlan, HasTheDefaultsOfKubernetesForWhatIsAbsentOrZero) {
  for (const char* probe : {R"({"tcpSocket":{"port":1}})",
                            R"({"tcpSocket":{"port":1},"periodSeconds":0,"timeoutSeconds":0,"failureThreshold":0})"}) {
    const ProbeNumbers numbers = liveness(probe).numbers;
    EXPECT_EQ(numbers.initial_delay_ms, 0);
    EXPECT_EQ(numbers.period_ms, 10'000);
    EXPECT_EQ(numbers.timeout_ms, 1000);
    EXPECT_EQ(numbers.success_threshold, 1);
    EXPECT_EQ(numbers.failure_threshold, 3);
    EXPECT_EQ(numbers.grace_ms, std::nullopt);
  }
}

TEST(ProbePlan, HasTheNumbersOfTheManifest) {
  const ProbeNumbers numbers = liveness(R"({"tcpSocket":{"port":1},"initialDelaySeconds":2,"periodSeconds":3,
      "timeoutSeconds":4,"successThreshold":5,"failureThreshold":6,"terminationGracePeriodSeconds":7})")
                                   .numbers;
  EXPECT_EQ(numbers.initial_delay_ms, 2000);
  EXPECT_EQ(numbers.period_ms, 3000);
  EXPECT_EQ(numbers.timeout_ms, 4000);
  EXPECT_EQ(numbers.success_threshold, 5);
  EXPECT_EQ(numbers.failure_threshold, 6);
  EXPECT_EQ(numbers.grace_ms, 7000);
}

TEST(ProbePlan, FindsPortsByNumberAndByName) {
  EXPECT_EQ(liveness(R"({"tcpSocket":{"port":"web"}})").handler.port, 8080);
  EXPECT_EQ(liveness(R"({"tcpSocket":{"port":"81"}})").handler.port, 81);
  EXPECT_EQ(liveness(R"({"tcpSocket":{"port":82}})").handler.port, 82);
  EXPECT_EQ(plans_of(R"({"tcpSocket":{"port":"db"}})").error().message(),
            "spec.containers[0].livenessProbe.tcpSocket.port: must be a number or the name of one of the container's "
            "ports, got 'db'");
  EXPECT_EQ(plans_of(R"({"httpGet":{"port":70000}})").error().message(),
            "spec.containers[0].livenessProbe.httpGet.port: must be between 1 and 65535");
}

TEST(ProbePlan, MakesARequestThatCanBeSent) {
  const HandlerPlan get =
      liveness(R"({"httpGet":{"port":80,"path":"ok now?a=b","httpHeaders":[{"name":"X","value":"y z"}]}})").handler;
  EXPECT_EQ(get.kind, HandlerPlan::Kind::http_get);
  EXPECT_EQ(get.host, "") << "the pod's";
  EXPECT_EQ(liveness(R"({"httpGet":{"port":80,"host":"localhost"}})").handler.host, "127.0.0.1");
  EXPECT_EQ(get.path, "/ok%20now?a=b");
  EXPECT_EQ(liveness(R"({"httpGet":{"port":80}})").handler.path, "/");
  EXPECT_EQ(plans_of(R"({"httpGet":{"port":80,"httpHeaders":[{"name":"X","value":"y\nZ: 1"}]}})").error().message(),
            "spec.containers[0].livenessProbe.httpGet.httpHeaders[0]: must be the name of a header, and a value "
            "without line breaks");
}

TEST(ProbePlan, ExpandsVariablesInACommand) {
  EXPECT_EQ(liveness(R"x({"exec":{"command":["test","$(A)","$(B)"]}})x").handler.command,
            (std::vector<std::string>{"test", "value", "$(B)"}));
}

TEST(ProbePlan, DemandsAHandler) {
  EXPECT_EQ(plans_of(R"({"periodSeconds":1})").error().message(),
            "spec.containers[0].livenessProbe: must have one of exec, httpGet and tcpSocket");
  EXPECT_TRUE(plans_of("{}")->empty()) << "which asks for nothing";
}

TEST(ProbePlan, OfAHookHasASleepToo) {
  const auto hook = [](const std::string& handler) {
    const Json container = Json::parse(R"({"name":"c","lifecycle":{"preStop":)" + handler + "}}").value();
    return plan_hook({container, kVariables}, "preStop", "spec.containers[0]");
  };
  EXPECT_EQ(hook(R"({"sleep":{"seconds":3}})").value()->sleep_ms, 3000);
  EXPECT_EQ(hook(R"({"httpGet":{"port":80,"path":"/bye"}})").value()->path, "/bye");
  EXPECT_FALSE(hook("{}").value().has_value());
  EXPECT_EQ(hook(R"({"tcpSocket":{"port":80}})").error().message(),
            "spec.containers[0].lifecycle.preStop: must have one of exec, httpGet and sleep");
}

TEST(ProbePlan, IsEncryptedWhereThereIsACurl) {
  const auto plans = plans_of(R"({"httpGet":{"port":"web","scheme":"HTTPS"}})", {"/usr/bin/curl", "f/n/u/1.1"});
  const HandlerPlan handler = plans->at(ProbeKind::liveness).handler;
  EXPECT_TRUE(handler.is_encrypted);
  EXPECT_EQ(handler.https.curl, "/usr/bin/curl");
  EXPECT_EQ(handler.https.tag, "f/n/u/1.1");
  EXPECT_FALSE(liveness(R"({"httpGet":{"port":1,"scheme":"HTTP"}})").handler.is_encrypted);
}

TEST(ProbePlan, LeavesOutWhatAsksForAFeatureThatIsMissing) {
  for (const char* probe : {R"({"grpc":{"port":1}})", R"({"httpGet":{"port":1,"scheme":"HTTPS"}})",
                            R"({"httpGet":{"port":1,"host":"example.org"}})"}) {
    EXPECT_TRUE(plans_of(probe).value().empty()) << probe;
  }
}

}  // namespace
}  // namespace berth
