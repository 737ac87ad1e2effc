#include <gtest/gtest.h>

#include "firmware-host/gateway/status_pages.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

const std::vector<HealthCheck> kGood{{"ping", ""}, {"store", ""}};
const std::vector<HealthCheck> kBad{{"ping", ""}, {"store", "disk on fire"}};

TEST(HealthChecks, AnswerOkOrVerbosely) {
  EXPECT_EQ(answer_checks("livez", "", kGood, "").body, "ok");
  EXPECT_EQ(answer_checks("livez", "", kGood, "verbose").body, "[+]ping ok\n[+]store ok\nlivez check passed\n");
  EXPECT_EQ(answer_checks("livez", "", kGood, "verbose=1&exclude=store").body,
            "[+]ping ok\n[+]store excluded: ok\nlivez check passed\n");
  EXPECT_EQ(answer_checks("livez", "ping", kGood, "").body, "ok");
}

TEST(HealthChecks, ReportWhatFails) {
  const HttpResponse failed = answer_checks("readyz", "", kBad, "");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body, "[+]ping ok\n[-]store failed: disk on fire\nreadyz check failed\n");
  EXPECT_EQ(answer_checks("readyz", "", kBad, "exclude=store").status, 200);
  EXPECT_EQ(answer_checks("readyz", "ping", kBad, "").status, 200);
  EXPECT_EQ(answer_checks("readyz", "store", kBad, "").status, 500);
  EXPECT_EQ(answer_checks("readyz", "moon", kBad, "").status, 404);
}

class StatusPagesTest : public GatewayTest {
 protected:
  HttpResponse get(const std::string& path, const std::string& query = "") {
    return pages->answer({"GET", path, query});
  }
  void open() {
    leadership.emplace(LeadershipOptions{"default", "gateway", "machine-a", "run-1"}, clock, timers, log, transport);
    leadership->set_gateway(*gateway);
    pages.emplace(clock, timers, *gateway, *leadership, Json(Json::Object{{"a", Json(1)}}));
  }
  bool has(const std::string& line) { return get("/metrics").body.find("\n" + line + "\n") != std::string::npos; }
  // The broker passes on what another gateway says, and then the claim of this one.
  void leadership_hears(const std::string& state) {
    transport.handler->on_link(true);
    Message other;
    other.topic = topics.gateway_presence("south", "run-2");
    other.retain = true;
    other.payload = R"({"state":")" + state + R"(","machine":"machine-b","claim":1,"address":"10.0.0.7"})";
    transport.handler->on_message(other);
    transport.handler->on_message(Message(transport.sent.back()));
  }
  std::optional<Leadership> leadership;
  std::optional<StatusPages> pages;
};

TEST_F(StatusPagesTest, IsReadyOnceConnectedAndSynced) {
  start();
  open();
  EXPECT_EQ(
      get("/readyz", "verbose").body,
      "[+]ping ok\n[+]loop ok\n[+]store ok\n[-]broker failed: the broker is not connected\n"
      "[+]leadership ok\n[-]synced failed: retained state is still arriving from the broker\nreadyz check failed\n");
  EXPECT_EQ(get("/livez").body, "ok");
  EXPECT_EQ(get("/healthz").body, "ok");
  pages.reset();
  start_connected();
  open();
  EXPECT_EQ(get("/readyz").body, "ok");
  pages.reset();
}

TEST_F(StatusPagesTest, ReportsWhichOtherGatewayServesTheFleet) {
  start();
  open();
  leadership_hears("serving");
  EXPECT_EQ(get("/readyz/broker").body, "ok") << "it is the other gateway that keeps this one from it";
  const std::string why =
      "gateway \"south\" at 10.0.0.7 serves fleet default, or did last; end one of the two. This one goes on when the "
      "other has not been heard for 120 s";
  EXPECT_EQ(get("/readyz/leadership").body, "[-]leadership failed: " + why + "\nreadyz check failed\n");
  pages.reset();
}

TEST_F(StatusPagesTest, ReportsADamagedStoreSetAsideWhileReady) {
  options.set_aside = {"/s/gateway.db.aside-1"};
  start_connected();
  open();
  EXPECT_EQ(get("/readyz").body, "ok");
  EXPECT_EQ(get("/readyz/store", "verbose").body,
            "[+]store ok: damaged and set aside: /s/gateway.db.aside-1\nreadyz check passed\n");
  pages.reset();
}

TEST_F(StatusPagesTest, IsNotReadyWhileDevicesRefuseTheBrokersCertificate) {
  start_connected();
  open();
  std::string problem = "valid from 2099 only";
  pages->add_certificates([&] { return problem; });
  EXPECT_EQ(get("/readyz/certificates").body, "[-]certificates failed: valid from 2099 only\nreadyz check failed\n");
  problem.clear();
  EXPECT_EQ(get("/readyz").body, "ok");
  pages.reset();
}

TEST_F(StatusPagesTest, ALateLoopIsNotLive) {
  start_connected();
  open();
  clock.now_ms += 7000;
  EXPECT_EQ(get("/livez").body, "[+]ping ok\n[-]loop failed: a turn took 6000 ms\nlivez check failed\n");
  timers.run_due(clock.now());
  EXPECT_EQ(get("/livez").body, "ok");
  pages.reset();
}

TEST_F(StatusPagesTest, ServesItsPagesOnly) {
  start_connected();
  open();
  EXPECT_EQ(get("/configz").body, "{\"a\":1}\n");
  EXPECT_EQ(get("/configz").content_type, "application/json");
  for (const char* path : {"/", "//", "/metric", "/metrics/x", "/readyz/a/b", "/readyz/nothing", "*"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  pages.reset();
}

TEST_F(StatusPagesTest, MetricsCountAttemptsNodesAndRows) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  apply(pod("huge", "u2", "64Gi"));
  open();
  EXPECT_TRUE(has(R"(berth_rows{phase="prebind"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_cache_size{type="assumed_pods"} 1)"));
  answer("n1", AnswerType::pre_bound);
  turn();
  answer("n1", AnswerType::bound);
  turn();
  EXPECT_TRUE(has(R"(scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_pending_pods{queue="unschedulable"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_pod_scheduling_attempts_bucket{le="1"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_scheduling_algorithm_duration_seconds_count 1)"));
  EXPECT_TRUE(has(R"(scheduler_plugin_evaluation_total{plugin="NodeUnschedulable",extension_point="Filter",)"
                  R"(profile="default-scheduler"} 1)"))
      << "once: it says the same of the node for both classes of pods";
  EXPECT_FALSE(has(R"(scheduler_plugin_evaluation_total{plugin="NodeName",extension_point="Filter",)"
                   R"(profile="default-scheduler"} 1)"))
      << "neither names its node";
  EXPECT_TRUE(has(R"(scheduler_framework_extension_point_duration_seconds_count{extension_point="PostBind",)"
                  R"(status="Success",profile="default-scheduler"} 1)"));
  EXPECT_TRUE(has(R"(scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",)"
                  R"(status="Success",profile="default-scheduler"} 2)"));
  EXPECT_TRUE(has(R"(scheduler_plugin_execution_duration_seconds_count{plugin="DefaultBinder",extension_point="Bind",)"
                  R"(status="Success"} 1)"))
      << "the first of ten cycles";
  EXPECT_TRUE(has("scheduler_preemption_attempts_total 1"));
  EXPECT_TRUE(has(R"(berth_rows{phase="bound"} 1)"));
  EXPECT_TRUE(has(R"(berth_nodes{state="ready"} 1)"));
  EXPECT_TRUE(has("berth_ready 1"));
  pages.reset();
}

}  // namespace
}  // namespace berth
