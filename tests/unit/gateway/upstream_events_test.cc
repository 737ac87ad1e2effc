// What changes of pods and nodes do to other pods, as with upstream's informers and controllers.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class UpstreamEvents : public GatewayTest {
 protected:
  UpstreamEvents() {
    start_connected();
    device("n1");
    slots("n1", {});
  }
  static std::string labelled(const std::string& name, const std::string& uid, const std::string& label,
                              const std::string& spec = {}) {
    return pod(name, uid, "64Mi", spec, R"({"app":")" + label + R"("})");
  }
};

// eventhandlers.go updatePod
TEST_F(UpstreamEvents, ALabelThatChangesBeforeThePodIsBoundCountsOnceItIs) {
  apply(labelled("pa", "pa", "a"));
  ASSERT_EQ(phase("pa"), Phase::prebind);
  apply(labelled("pa", "pa", "b"));
  const std::string affinity =
      R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{)"
      R"("topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"b"}}}]}})";
  apply(labelled("qa", "qa", "q", affinity));
  EXPECT_EQ(phase("qa"), Phase::none);
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(phase("pa"), Phase::bound);
  advance(2'000);
  EXPECT_EQ(phase("qa"), Phase::prebind);
}

// Spreading leaves out what a pod does not tolerate (nodeTaintsPolicy: Honor).
TEST_F(UpstreamEvents, ACordonedNodeHasTheTaintOfOne) {
  device("n2");
  slots("n2", {});
  const auto cordon = [this](const std::string& cordoned) {
    apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"spec":{"unschedulable":)" + cordoned + "}}");
  };
  cordon("true");
  const std::string spread =
      R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname","nodeTaintsPolicy":"Honor",)"
      R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"s"}}}])";
  for (const char* name : {"s1", "s2", "s3"}) {
    apply(labelled(name, name, "s", spread));
    ASSERT_EQ(gateway->bindings().count(std::string(name)), 1u) << name;
    EXPECT_EQ(gateway->bindings().at(std::string(name)).row.node, "n2");
  }
  const auto taints = [this] { return gateway->scheduler().cache().find("n1")->node->taints.size(); };
  EXPECT_EQ(taints(), 1u);
  cordon("false");
  EXPECT_EQ(taints(), 0u);
}

// schedule_one.go handleBindingCycleError: AssignedPodDelete of the assumed pod.
TEST_F(UpstreamEvents, AFailedBindingWakesWhomTheDeleteOfThatPodWould) {
  apply(pod("refused", "refused", "600Mi"));
  ASSERT_EQ(phase("refused"), Phase::prebind);
  apply(pod("waits", "waits", "900Mi"));
  apply(pod("elsewhere", "elsewhere", "64Mi", R"(,"nodeSelector":{"disk":"none"})"));
  const auto attempts = [this](const std::string& uid) {
    const QueuedPod* queued = gateway->scheduler().queue().find(uid);
    return queued == nullptr ? 0 : queued->attempts;
  };
  ASSERT_EQ(attempts("waits"), 1) << "no room beside the other one";
  ASSERT_EQ(attempts("elsewhere"), 1);
  Answer rejected = answer_to(*request("n1"), AnswerType::rejected);
  rejected.reason = "not today";
  answer("n1", rejected);
  advance(15'000);
  EXPECT_EQ(phase("waits"), Phase::prebind) << "it has the room now";
  EXPECT_EQ(attempts("elsewhere"), 1) << "no plugin that rejected it is woken by the delete of a pod";
}

}  // namespace
}  // namespace berth
