#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/unit/controllers/daemon_fleet.h"

namespace berth {
namespace {

using Images = std::map<std::string, std::string>;
using Reasons = std::set<std::string>;

// The canary site first, then half of all, then the rest.
constexpr const char* kPlan = R"({"waves":[
    {"name":"canary","selector":{"matchLabels":{"site":"lab"}},"soakSeconds":20},
    {"name":"half","upTo":"50%"},{"name":"rest"}],
    "healthySeconds":3,"progressDeadlineSeconds":15,"offlineDeadlineSeconds":60})";

class DaemonSetRollout : public ::testing::Test {
 protected:
  // a, b, c and d, of which d is the canary, run v1.
  DaemonSetRollout() {
    for (const char* name : {"a", "b", "c"}) fleet_.add_node(name);
    fleet_.add_node("d", {{"site", "lab"}});
  }
  void start(const std::string& plan = kPlan, const std::string& strategy = R"("maxUnavailable":1)") {
    fleet_.create_set(plan, strategy);
    fleet_.advance(60);
    EXPECT_EQ(fleet_.rollout("phase"), "Complete") << fleet_.rollout("message");
    fleet_.events();
  }

  DaemonFleet fleet_;
};

TEST_F(DaemonSetRollout, TheFirstRevisionAlsoGoesInWaves) {
  fleet_.create_set(kPlan);
  fleet_.advance(10);
  EXPECT_EQ(fleet_.images(), (Images{{"a", ""}, {"b", ""}, {"c", ""}, {"d", "v1"}}));
  fleet_.advance(50);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v1"}, {"c", "v1"}, {"d", "v1"}}));
}

TEST_F(DaemonSetRollout, GoesWaveByWaveAndSoaks) {
  start();
  fleet_.set_image("v2");
  EXPECT_EQ(fleet_.rollout("message"), "wave canary (1 of 3): 0 of 1 healthy, 1 outdated");
  fleet_.advance(10);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v1"}, {"c", "v1"}, {"d", "v2"}}));
  EXPECT_EQ(fleet_.rollout("message"), "wave canary (1 of 3): 1 of 1 healthy; soaks until 2026-01-05T10:01:25Z");
  EXPECT_EQ(fleet_.events(), (Reasons{"RolloutStarted", "RolloutWave", "RolloutSoaking"}));
  fleet_.advance(18);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v2"}, {"b", "v1"}, {"c", "v1"}, {"d", "v2"}}));
  fleet_.advance(20);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v2"}, {"b", "v2"}, {"c", "v2"}, {"d", "v2"}}));
  EXPECT_EQ(fleet_.rollout("phase"), "Complete");
  EXPECT_EQ(fleet_.events(), (Reasons{"RolloutWave", "RolloutComplete"}));
}

TEST_F(DaemonSetRollout, APlanThatComesLaterChangesNothingWhereTheRevisionRuns) {
  start();
  fleet_.merge(R"({"metadata":{"annotations":{"berth/rollout-plan":null}}})");
  EXPECT_EQ(fleet_.rollout("phase"), "");
  fleet_.annotate("berth/rollout-plan", kPlan);
  EXPECT_EQ(fleet_.rollout("phase"), "Complete");
}

TEST_F(DaemonSetRollout, AFailedWaveGoesBackByItself) {
  start();
  fleet_.break_image("d", "v2");
  fleet_.set_image("v2");
  fleet_.advance(10);
  EXPECT_EQ(fleet_.images().at("d"), "v2");
  fleet_.advance(20);
  EXPECT_EQ(fleet_.rollout("phase"), "RolledBack");
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v1"}, {"c", "v1"}, {"d", "v1"}}));
  EXPECT_TRUE(fleet_.events().contains("RolledBack"));
  EXPECT_EQ(fleet_.ready_nodes().size(), 4U);
}

TEST_F(DaemonSetRollout, AfterARollbackTheNextRevisionGoesInWavesAgain) {
  start();
  fleet_.break_image("d", "v2");
  fleet_.set_image("v2");
  fleet_.advance(30);
  fleet_.set_image("v3");
  EXPECT_EQ(fleet_.rollout("waveName"), "canary");
  fleet_.advance(60);
  EXPECT_EQ(fleet_.rollout("phase"), "Complete");
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v3"}, {"b", "v3"}, {"c", "v3"}, {"d", "v3"}}));
}

TEST_F(DaemonSetRollout, TheStableRevisionIsKeptBeyondTheHistoryLimit) {
  start(R"({"waves":[{"name":"all","soakSeconds":20}],"healthySeconds":3,"progressDeadlineSeconds":15})",
        R"("maxUnavailable":4)");
  fleet_.merge(R"({"spec":{"revisionHistoryLimit":0}})");
  fleet_.set_image("v2");
  fleet_.advance(10);
  fleet_.operate("restart", "a");
  fleet_.operate("unready", "a");
  fleet_.advance(20);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v1"}, {"c", "v1"}, {"d", "v1"}}));
}

TEST_F(DaemonSetRollout, WithoutAnEarlierRevisionAFailureStopsIt) {
  fleet_.break_image("d", "v1");
  fleet_.create_set(kPlan);
  fleet_.advance(30);
  EXPECT_EQ(fleet_.rollout("phase"), "Stopped");
  EXPECT_EQ(fleet_.images(), (Images{{"a", ""}, {"b", ""}, {"c", ""}, {"d", "v1"}}));
  EXPECT_EQ(fleet_.rollout("message"), "wave canary (1 of 3) failed on d: stopped, as no earlier revision is known");
}

TEST_F(DaemonSetRollout, ANewNodeGetsTheRevisionThatItsWaveHas) {
  start();
  fleet_.set_image("v2");
  fleet_.advance(10);
  fleet_.add_node("e");
  fleet_.add_node("f", {{"site", "lab"}});
  fleet_.advance(3);
  EXPECT_EQ(fleet_.images().at("e"), "v1");
  EXPECT_EQ(fleet_.images().at("f"), "v2");
}

TEST_F(DaemonSetRollout, ASilentNodeIsWaitedForUntilItsDeadline) {
  start();
  fleet_.silence("d");
  fleet_.set_image("v2");
  fleet_.advance(50);
  EXPECT_EQ(fleet_.rollout("message"), "wave canary (1 of 3): 0 of 1 healthy, 1 not answering");
  fleet_.advance(35);
  EXPECT_EQ(fleet_.images().at("a"), "v2");
  EXPECT_EQ(fleet_.images().at("d"), "v1");
}

TEST_F(DaemonSetRollout, ANodeThatReturnsGetsTheNewestRevisionAtOnce) {
  start();
  fleet_.silence("a");
  fleet_.set_image("v2");
  fleet_.advance(200);
  fleet_.set_image("v3");
  fleet_.advance(200);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v3"}, {"c", "v3"}, {"d", "v3"}}));
  EXPECT_EQ(fleet_.rollout("phase"), "Complete");
  fleet_.wake("a");
  fleet_.advance(3);
  EXPECT_EQ(fleet_.images().at("a"), "v3");
}

TEST_F(DaemonSetRollout, ANodeThatFallsSilentWithTheNewRevisionHasFailed) {
  start();
  fleet_.set_image("v2");
  fleet_.advance(4);
  EXPECT_EQ(fleet_.images().at("d"), "v2");
  fleet_.silence("d");
  fleet_.advance(65);
  EXPECT_EQ(fleet_.rollout("phase"), "RolledBack");
}

TEST_F(DaemonSetRollout, PausesAndResumesByHand) {
  start();
  fleet_.annotate("berth/rollout-paused", "true");
  fleet_.set_image("v2");
  fleet_.advance(30);
  EXPECT_EQ(fleet_.rollout("phase"), "Paused");
  EXPECT_EQ(fleet_.images().at("d"), "v1");
  EXPECT_TRUE(fleet_.events().contains("RolloutPaused"));
  fleet_.annotate("berth/rollout-paused", "false");
  EXPECT_EQ(fleet_.rollout("phase"), "Progressing");
  EXPECT_TRUE(fleet_.events().contains("RolloutResumed"));
  fleet_.advance(5);
  EXPECT_EQ(fleet_.images().at("d"), "v2");
}

TEST_F(DaemonSetRollout, WaitsForTheWindowOfEachNodesZone) {
  start();
  fleet_.annotate("berth/rollout-plan", R"({"waves":[{"name":"all"}],"timeZone":"Europe/Berlin","healthySeconds":3,
                                            "windows":[{"start":"12:02","end":"12:03"}]})");
  fleet_.add_node("k", {{"berth/time-zone", "Asia.Kolkata"}});
  fleet_.advance(5);
  EXPECT_EQ(fleet_.images().at("k"), "v1");
  fleet_.set_image("v2");
  EXPECT_EQ(fleet_.rollout("message"),
            "wave all (1 of 1): 0 of 5 healthy, 5 outdated (5 until their download window opens)");
  fleet_.advance(3600 + 120 - fleet_.now() - 1);
  EXPECT_EQ(fleet_.images().at("a"), "v1");
  fleet_.advance(60);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v2"}, {"b", "v2"}, {"c", "v2"}, {"d", "v2"}, {"k", "v1"}}));
}

TEST_F(DaemonSetRollout, WithSurgeTheNewPodComesFirst) {
  start(kPlan, R"("maxSurge":1,"maxUnavailable":0)");
  fleet_.set_image("v2");
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v1"}, {"c", "v1"}, {"d", "v1+v2"}}));
  fleet_.advance(3);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v1"}, {"c", "v1"}, {"d", "v2"}}));
}

TEST_F(DaemonSetRollout, AnOldPodThatIsNotAvailableWaitsForItsWaveToo) {
  start();
  fleet_.set_image("v2");
  fleet_.operate("unready", "a");
  fleet_.advance(10);
  EXPECT_EQ(fleet_.images().at("a"), "v1");
}

TEST_F(DaemonSetRollout, ASilentNodeCountsThoughATaintKeepsNewPodsAway) {
  start();
  fleet_.silence("d");
  fleet_.taint_unreachable("d");
  fleet_.set_image("v2");
  fleet_.advance(10);
  EXPECT_EQ(fleet_.rollout("message"), "wave canary (1 of 3): 0 of 1 healthy, 1 not answering");
}

TEST_F(DaemonSetRollout, GenerationsDoNotMakeAnOldRevisionTheNewOne) {
  start();
  fleet_.annotate("deprecated.daemonset.template.generation", "2");
  fleet_.break_image("d", "v2");
  fleet_.set_image("v2");
  fleet_.advance(5);
  EXPECT_EQ(fleet_.images().at("d"), "v2");
  fleet_.advance(30);
  EXPECT_EQ(fleet_.images(), (Images{{"a", "v1"}, {"b", "v1"}, {"c", "v1"}, {"d", "v1"}}));
}

TEST_F(DaemonSetRollout, APodOfTheStableRevisionHasNoNewerGeneration) {
  start();
  fleet_.annotate("deprecated.daemonset.template.generation", "2");
  fleet_.set_image("v2");
  fleet_.add_node("e");
  fleet_.advance(4);
  EXPECT_EQ(fleet_.images().at("e"), "v1");
  fleet_.merge(R"({"metadata":{"annotations":{"berth/rollout-plan":null}}})");
  fleet_.advance(30);
  EXPECT_EQ(fleet_.images().at("e"), "v2");
}

TEST_F(DaemonSetRollout, SaysWhichTimeZoneIsNotKnown) {
  start();
  fleet_.annotate("berth/rollout-plan", R"({"waves":[{"name":"all"}],"timeZone":"No/Where",
                                            "windows":[{"start":"12:02","end":"12:03"}]})");
  fleet_.set_image("v2");
  EXPECT_EQ(fleet_.rollout("message"),
            "wave all (1 of 1): 0 of 4 healthy, 4 outdated (4 until their download window opens); unknown time zone "
            "No/Where, UTC counts instead");
}

TEST_F(DaemonSetRollout, AToleratedFailureHoldsNobodyElseUp) {
  start(R"({"waves":[{"name":"all"}],"healthySeconds":3,"progressDeadlineSeconds":15,"maxFailed":1})");
  fleet_.break_image("a", "v2");
  fleet_.set_image("v2");
  fleet_.advance(60);
  EXPECT_EQ(fleet_.rollout("phase"), "Complete");
  EXPECT_EQ(fleet_.ready_nodes().size(), 3U);
}

}  // namespace
}  // namespace berth
