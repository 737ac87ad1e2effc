#include "firmware-host/ctl/rollout_progress.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

using State = RolloutProgress::State;

RolloutProgress deployment(const std::string& status) {
  return rollout_progress(parsed_json(R"({"kind":"Deployment","metadata":{"name":"web","generation":2},
      "spec":{"replicas":3},"status":{"observedGeneration":2)" +
                                      status + "}}"));
}
RolloutProgress daemon_set(const std::string& status) {
  return rollout_progress(parsed_json(
      R"({"kind":"DaemonSet","metadata":{"name":"web"},"status":{"desiredNumberScheduled":3)" + status + "}}"));
}

TEST(RolloutProgress, ADeploymentIsUpdatedThenCleanedUpThenAvailable) {
  EXPECT_EQ(deployment(R"(,"updatedReplicas":1)").text, "1 of 3 pods are updated");
  EXPECT_EQ(deployment(R"(,"updatedReplicas":3,"replicas":4)").text, "1 old pods have not ended");
  EXPECT_EQ(deployment(R"(,"updatedReplicas":3,"replicas":3,"availableReplicas":2)").text,
            "2 of 3 updated pods are available");
  EXPECT_EQ(deployment(R"(,"updatedReplicas":3,"replicas":3,"availableReplicas":3)").state, State::done);
}

TEST(RolloutProgress, ADeploymentBeyondItsDeadlineHasFailed) {
  EXPECT_EQ(deployment(R"(,"conditions":[{"type":"Progressing","reason":"ProgressDeadlineExceeded"}])").state,
            State::failed);
}

TEST(RolloutProgress, ADaemonSetIsUpdatedThenAvailable) {
  EXPECT_EQ(daemon_set(R"(,"updatedNumberScheduled":2)").text, "2 of 3 pods are updated");
  EXPECT_EQ(daemon_set(R"(,"updatedNumberScheduled":3)").text, "0 of 3 updated pods are available");
  EXPECT_EQ(daemon_set(R"(,"updatedNumberScheduled":3,"numberAvailable":3)").state, State::done);
}

TEST(RolloutProgress, WithOnDeleteThereIsNothingToFollow) {
  const Json set = parsed_json(R"({"kind":"DaemonSet","spec":{"updateStrategy":{"type":"OnDelete"}}})");
  EXPECT_EQ(rollout_progress(set).state, State::failed);
}

TEST(RolloutProgress, AChangeThatNobodyHasLookedAtIsNotJudged) {
  const Json object = parsed_json(R"({"kind":"Deployment","metadata":{"generation":3},"status":{"observedGeneration":2,
      "rollout":{"phase":"Complete","message":"all waves are done"}}})");
  EXPECT_EQ(rollout_progress(object).state, State::underway);
}

TEST(RolloutProgress, APlanSaysWhatItWaitsFor) {
  RolloutProgress progress = deployment(R"(,"rollout":{"phase":"Progressing","message":"wave canary"})");
  EXPECT_EQ(progress.state, State::underway);
  EXPECT_EQ(progress.text, "Progressing: wave canary");
  EXPECT_EQ(deployment(R"(,"rollout":{"phase":"Paused"})").state, State::underway);
  EXPECT_EQ(deployment(R"(,"rollout":{"phase":"Complete"})").state, State::done);
  EXPECT_EQ(deployment(R"(,"rollout":{"phase":"Stopped"})").state, State::failed);
  EXPECT_EQ(deployment(R"(,"rollout":{"phase":"RolledBack"})").state, State::failed);
}

}  // namespace
}  // namespace berth
