// When probes are due and what their results come to, on a clock of the test's own.
#include "firmware-host/agent/probe_rules.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr ProbeResult kGood = ProbeResult::success;
constexpr ProbeResult kBad = ProbeResult::failure;

ProbePlan probe(int success_threshold = 1, int failure_threshold = 3, Millis initial_delay = 0) {
  ProbePlan plan;
  plan.numbers.success_threshold = success_threshold;
  plan.numbers.failure_threshold = failure_threshold;
  plan.numbers.initial_delay_ms = initial_delay;
  return plan;
}

void note(ProbeSchedule& probes, ProbeKind kind, std::initializer_list<ProbeResult> results) {
  for (const ProbeResult result : results) probes.note(kind, result);
}

TEST(ProbeRules, AContainerWithoutProbesIsStartedAndReady) {
  const ProbeSchedule probes({}, 0);
  EXPECT_TRUE(probes.is_started());
  EXPECT_TRUE(probes.is_ready());
  EXPECT_EQ(probes.failed(), std::nullopt);
  EXPECT_EQ(probes.due(ProbeKind::liveness), std::nullopt);
}

TEST(ProbeRules, TheFirstCheckIsDueAfterTheInitialDelayAndTheNextAPeriodLater) {
  ProbeSchedule probes({{ProbeKind::readiness, probe(1, 3, 5000)}}, 100);
  EXPECT_EQ(probes.due(ProbeKind::readiness), 5100);
  probes.begin(ProbeKind::readiness, 5200);
  EXPECT_EQ(probes.due(ProbeKind::readiness), 15'200);
}

TEST(ProbeRules, ReadinessChangesOnceAsManyResultsInARowAgreeAsTheThresholdSays) {
  ProbeSchedule probes({{ProbeKind::readiness, probe(2, 3)}}, 0);
  EXPECT_FALSE(probes.is_ready());
  note(probes, ProbeKind::readiness, {kGood});
  EXPECT_FALSE(probes.is_ready());
  note(probes, ProbeKind::readiness, {kGood});
  EXPECT_TRUE(probes.is_ready());
  note(probes, ProbeKind::readiness, {kBad, kBad, kGood, kBad, kBad});
  EXPECT_TRUE(probes.is_ready()) << "a success begins the count of failures again";
  note(probes, ProbeKind::readiness, {kBad});
  EXPECT_FALSE(probes.is_ready());
  EXPECT_EQ(probes.failed(), std::nullopt) << "nobody is killed for not being ready";
  note(probes, ProbeKind::readiness, {kGood, kGood});
  EXPECT_TRUE(probes.is_ready());
}

TEST(ProbeRules, AResultThatSaysNothingOfTheContainerIsThrownAway) {
  ProbeSchedule probes({{ProbeKind::liveness, probe(1, 2)}}, 0);
  note(probes, ProbeKind::liveness, {kBad, ProbeResult::unknown, ProbeResult::unknown});
  EXPECT_EQ(probes.failed(), std::nullopt);
  note(probes, ProbeKind::liveness, {kBad});
  EXPECT_EQ(probes.failed(), ProbeKind::liveness);
}

TEST(ProbeRules, ReadinessAndLivenessWaitForStartupWhichIsNotProbedAgain) {
  ProbeSchedule probes(
      {{ProbeKind::startup, probe()}, {ProbeKind::readiness, probe()}, {ProbeKind::liveness, probe(1, 3, 7000)}}, 0);
  EXPECT_EQ(probes.due(ProbeKind::startup), 0);
  EXPECT_EQ(probes.due(ProbeKind::readiness), std::nullopt);
  EXPECT_EQ(probes.due(ProbeKind::liveness), std::nullopt);
  EXPECT_FALSE(probes.is_started());
  note(probes, ProbeKind::startup, {kBad, kBad, kGood});
  EXPECT_TRUE(probes.is_started());
  EXPECT_FALSE(probes.is_ready());
  EXPECT_EQ(probes.due(ProbeKind::startup), std::nullopt);
  EXPECT_EQ(probes.due(ProbeKind::readiness), 0);
  EXPECT_EQ(probes.due(ProbeKind::liveness), 7000);
}

TEST(ProbeRules, WhatFailedStartupOrLivenessIsNotProbedForItAgain) {
  for (const ProbeKind kind : {ProbeKind::startup, ProbeKind::liveness}) {
    ProbeSchedule probes({{kind, probe(1, 1)}}, 0);
    note(probes, kind, {kBad});
    EXPECT_EQ(probes.failed(), kind);
    EXPECT_EQ(probes.due(kind), std::nullopt);
  }
}

}  // namespace
}  // namespace berth
