#include "core/controllers/rollout/rollout_decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/controllers/rollout/pod_health.h"

namespace berth {
namespace {

using Phase = RolloutStatus::Phase;
using Nodes = std::set<std::string>;
constexpr Millis kRolloutStart = 1'767'607'200'000;

// Decides again and again, each time with the status that came of the time before.
class RolloutDecisionTest : public ::testing::Test {
 protected:
  RolloutDecisionTest() {
    plan_.waves.resize(2);
    plan_.waves[0].name = "canary";
    plan_.waves[0].up_to = IntOrPercent{1, false};
    plan_.waves[1].name = "rest";
    plan_.healthy_seconds = 10;
    plan_.progress_deadline_seconds = 100;
    plan_.offline_deadline_seconds = 1000;
    for (const char* name : {"a", "b", "c"}) {
      nodes_.emplace_back().name = name;
      nodes_.back().has_pod = true;
    }
  }
  RolloutNode& node(const std::string& name) {
    return *std::find_if(nodes_.begin(), nodes_.end(), [&](const RolloutNode& each) { return each.name == name; });
  }
  // The node has a pod of the new revision that became ready at once.
  void update(const std::string& name) {
    node(name).updated = true;
    node(name).created = now_;
    node(name).ready = true;
    node(name).ready_changed = now_;
  }
  RolloutDecision decide() {
    RolloutInput input{.plan = plan_,
                       .paused = paused_,
                       .before = before_,
                       .revision = revision_,
                       .revisions = revisions_,
                       .running = "h1",
                       .nodes = nodes_,
                       .note = {},
                       .now = now_};
    RolloutDecision decision = decide_rollout(input);
    before_ = decision.status;
    return decision;
  }
  void wait(int seconds) { now_ += seconds * Millis{1000}; }

  RolloutPlan plan_;
  bool paused_ = false;
  std::optional<RolloutStatus> before_;
  std::string revision_ = "h2";
  std::set<std::string> revisions_{"h1", "h2", "h3"};
  std::vector<RolloutNode> nodes_;
  Millis now_ = kRolloutStart;
};

TEST_F(RolloutDecisionTest, TheRevisionThatRunsIsTheStableOne) {
  const RolloutDecision decision = decide();
  EXPECT_EQ(decision.status.stable_revision, "h1");
  EXPECT_EQ(decision.revision, "h2");
  EXPECT_EQ(decision.open, Nodes{"a"});
  EXPECT_EQ(decision.wake_at, std::nullopt);
}

TEST_F(RolloutDecisionTest, ASilentNodeIsLeftToALaterWave) {
  node("a").silent_since = now_;
  EXPECT_EQ(decide().open, Nodes{"b"});
}

TEST_F(RolloutDecisionTest, ANodeStaysInTheWaveInWhichItGotTheRevision) {
  node("a").silent_since = now_;
  decide();
  update("b");
  node("a").silent_since.reset();
  EXPECT_EQ(decide().open, Nodes{"b"});
}

TEST_F(RolloutDecisionTest, WakesWhenANodeHasBeenHealthyForLongEnough) {
  update("a");
  EXPECT_EQ(decide().wake_at, now_ + 10'000);
  wait(10);
  EXPECT_EQ(decide().status.wave_name, "rest");
}

TEST_F(RolloutDecisionTest, ARestartBeginsTheTimeOfHealthAgain) {
  decide();
  update("a");
  wait(9);
  node("a").ready_changed = now_;
  wait(9);
  EXPECT_EQ(decide().status.wave_name, "canary");
  wait(1);
  EXPECT_EQ(decide().status.wave_name, "rest");
}

TEST_F(RolloutDecisionTest, TooManyRestartsAreAFailure) {
  decide();
  update("a");
  node("a").restarts = 3;
  EXPECT_EQ(decide().status.phase, Phase::progressing);
  node("a").restarts = 4;
  const RolloutDecision decision = decide();
  EXPECT_EQ(decision.status.phase, Phase::rolled_back);
  EXPECT_EQ(decision.status.failed, std::vector<std::string>{"a"});
  EXPECT_EQ(decision.revision, "h1");
  EXPECT_EQ(decision.open, (Nodes{"a", "b", "c"}));
}

TEST_F(RolloutDecisionTest, APodThatIsNotReadyInTimeIsAFailure) {
  decide();
  update("a");
  node("a").ready = false;
  EXPECT_EQ(decide().wake_at, now_ + 100'000);
  wait(99);
  EXPECT_EQ(decide().status.phase, Phase::progressing);
  wait(1);
  EXPECT_EQ(decide().status.phase, Phase::rolled_back);
}

TEST_F(RolloutDecisionTest, AnOldPodThatDoesNotGoIsAFailure) {
  decide();
  node("a").has_pod = false;
  node("a").deletion_asked = now_;
  wait(100);
  EXPECT_EQ(decide().status.phase, Phase::rolled_back);
}

TEST_F(RolloutDecisionTest, AFailureStandsWhileThePodIsReplaced) {
  plan_.max_failed = {1, false};
  plan_.waves[0].up_to = IntOrPercent{2, false};
  decide();
  update("a");
  node("a").has_ended = true;
  EXPECT_EQ(decide().status.failed, std::vector<std::string>{"a"});
  RolloutNode without_pod;
  without_pod.name = "a";
  node("a") = without_pod;
  EXPECT_EQ(decide().status.failed, std::vector<std::string>{"a"});
  update("a");
  wait(10);
  EXPECT_TRUE(decide().status.failed.empty());
}

TEST_F(RolloutDecisionTest, ShareOfFailuresIsOfTheWaveAndRoundedDown) {
  plan_.waves[0].up_to = IntOrPercent{2, false};
  plan_.max_failed = {50, true};
  decide();
  update("a");
  update("b");
  node("a").has_ended = true;
  EXPECT_EQ(decide().status.phase, Phase::progressing);
  plan_.max_failed = {49, true};
  EXPECT_EQ(decide().status.phase, Phase::rolled_back);
}

TEST_F(RolloutDecisionTest, StopsWhereThePlanSaysSoAndGoesOnWhenMoreMayFail) {
  plan_.rolls_back = false;
  decide();
  update("a");
  node("a").has_ended = true;
  RolloutDecision decision = decide();
  EXPECT_EQ(decision.status.phase, Phase::stopped);
  EXPECT_EQ(decision.status.message, "wave canary (1 of 2) failed on a: stopped, as the plan says");
  plan_.max_failed = {1, false};
  decision = decide();
  EXPECT_EQ(decision.status.wave_name, "rest");
  EXPECT_EQ(decision.no_unavailable, Nodes{"a"});
}

TEST_F(RolloutDecisionTest, WhoComesAndGoesBlocksNoLongerThanTheDeadlineFromTheStartOfItsWave) {
  node("b").updated = node("c").updated = false;
  plan_.waves[0].up_to = IntOrPercent{3, false};
  decide();
  update("a");
  update("b");
  for (int i = 0; i < 9; ++i) {
    node("c").silent_since = now_ + 1;
    wait(100);
    EXPECT_EQ(decide().status.wave_name, "canary");
    node("c").silent_since.reset();
    decide();
  }
  node("c").silent_since = now_ + 1;
  EXPECT_EQ(decide().wake_at, kRolloutStart + 1'000'000);
  wait(100);
  EXPECT_EQ(decide().status.phase, Phase::complete);
}

TEST_F(RolloutDecisionTest, ANodeThatReturnsWhileItsWaveSoaksIsNotWaitedFor) {
  plan_.waves[0].up_to = IntOrPercent{3, false};
  plan_.waves[0].soak_seconds = 50;
  node("c").silent_since = now_ - 1'000'000;
  update("a");
  update("b");
  wait(10);
  EXPECT_EQ(decide().wake_at, now_ + 50'000);
  node("c").silent_since.reset();
  EXPECT_EQ(decide().open, (Nodes{"a", "b", "c"}));
  wait(50);
  EXPECT_NE(decide().status.wave_name, "canary");
}

TEST_F(RolloutDecisionTest, ANodeWasWhatItWasWhenItFellSilent) {
  decide();
  update("a");
  wait(10);
  node("a").silent_since = now_;
  EXPECT_EQ(decide().status.wave_name, "rest");
}

TEST_F(RolloutDecisionTest, ANodeThatFellSilentOnTrialHasNotPassedBecauseTheGatewayStartedAgain) {
  decide();
  update("a");
  wait(5);  // half of what it takes
  node("a").silent_since = now_;
  EXPECT_EQ(decide().status.wave_name, "canary");
  wait(500);
  node("a").silent_since = now_;  // all that a gateway knows that has just started
  EXPECT_EQ(decide().status.wave_name, "canary");
  wait(500);
  EXPECT_EQ(decide().status.phase, Phase::rolled_back) << "what it was given may be why";
  EXPECT_TRUE(before_->silent_on_trial.empty());
}

TEST_F(RolloutDecisionTest, BackToTheStableRevisionNeedsNoWaves) {
  decide();
  revision_ = "h1";
  EXPECT_EQ(decide().status.phase, Phase::complete);
}

TEST_F(RolloutDecisionTest, AnotherRevisionOnTheWayBeginsWithTheFirstWave) {
  update("a");
  wait(10);
  EXPECT_EQ(decide().status.wave_name, "rest");
  revision_ = "h3";
  for (RolloutNode& each : nodes_) each.updated = false;
  const RolloutDecision decision = decide();
  EXPECT_EQ(decision.status.wave_name, "canary");
  EXPECT_EQ(decision.status.stable_revision, "h1");
}

TEST_F(RolloutDecisionTest, ARollbackWhoseRevisionIsGoneStands) {
  decide();
  update("a");
  node("a").has_ended = true;
  EXPECT_EQ(decide().status.phase, Phase::rolled_back);
  revisions_.erase("h1");
  const RolloutDecision decision = decide();
  EXPECT_EQ(decision.status.phase, Phase::stopped);
  EXPECT_EQ(decision.revision, "h2");
}

TEST_F(RolloutDecisionTest, WavesAreKnownByNameWhenThePlanChanges) {
  update("a");
  wait(10);
  EXPECT_EQ(decide().status.wave, 1);
  plan_.waves.insert(plan_.waves.begin() + 1, RolloutWave{"two", {}, IntOrPercent{2, false}, 0});
  EXPECT_EQ(decide().status.wave, 2);
  plan_.waves = {RolloutWave{"all", {}, {}, 0}};
  EXPECT_EQ(decide().status.wave_name, "all");
}

TEST_F(RolloutDecisionTest, AClosedWindowKeepsOnlyWhatIsNotThereYet) {
  plan_.waves[0].up_to = IntOrPercent{2, false};
  plan_.windows = {{12 * 60, 13 * 60, {}}};  // it is 10:00
  update("a");
  RolloutDecision decision = decide();
  EXPECT_EQ(decision.open, Nodes{"a"});
  EXPECT_EQ(decision.status.message,
            "wave canary (1 of 2): 0 of 2 healthy, 1 updating, 1 outdated (1 until their download window opens)");
  wait(2 * 3600);
  decision = decide();
  EXPECT_EQ(decision.open, (Nodes{"a", "b"}));
}

TEST_F(RolloutDecisionTest, NothingIsOpenWhilePaused) {
  update("b");
  paused_ = true;
  const RolloutDecision decision = decide();
  EXPECT_EQ(decision.status.phase, Phase::paused);
  EXPECT_EQ(decision.open, Nodes{"b"});
  EXPECT_EQ(decision.wake_at, std::nullopt);
}

TEST(RolloutPodHealth, ARestartThatNobodySawAsUnreadyCounts) {
  ControlledPod pod;
  pod.metadata.created = kRolloutStart;
  pod.ready = true;
  pod.ready_since = kRolloutStart + 1000;
  RolloutNode node;
  set_health(pod, node);
  EXPECT_EQ(node.ready_changed, kRolloutStart + 1000);
  pod.last_started = kRolloutStart + 5000;
  set_health(pod, node);
  EXPECT_EQ(node.ready_changed, kRolloutStart + 5000);
}

TEST_F(RolloutDecisionTest, AFleetWithoutNodesIsDone) {
  nodes_.clear();
  EXPECT_EQ(decide().status.phase, Phase::complete);
}

}  // namespace
}  // namespace berth
