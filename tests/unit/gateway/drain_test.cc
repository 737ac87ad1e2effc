// What `berthctl drain` asks of the gateway: nodes that are cordoned, pods that are evicted as their budgets allow.
#include "tests/unit/gateway/workloads_fixture.h"

namespace berth {
namespace {

class DrainTest : public WorkloadsFixture {
 protected:
  static std::string budget(const std::string& spec) {
    return R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"selector":
      {"matchLabels":{"app":"web"}},)" +
           spec + "}}";
  }
  Json evict(const Pod& pod) { return evict(pod.metadata.name, std::string(pod.uid())); }
  Json evict(const std::string& name, const std::string& uid) {
    return api(R"({"op":"evict","namespace":"default","name":")" + name + R"(","uid":")" + uid + R"("})");
  }
  Json cordon(const std::string& node, bool on) {
    return api(R"({"op":"cordon","name":")" + node + R"(","unschedulable":)" + (on ? "true" : "false") + "}");
  }
  std::int64_t allowed() { return count_of("pdb", "b", "disruptionsAllowed"); }
};

TEST_F(DrainTest, ABudgetCountsByTheScaleOfItsPodsControllerAndPodsThatAreReady) {
  start_with_device();
  apply(deployment("web", 4));
  apply(budget(R"("maxUnavailable":"25%")"));
  run_devices();
  EXPECT_EQ(count_of("pdb", "b", "expectedPods"), 4);
  EXPECT_EQ(allowed(), 1);
  reports_ready = false;
  end_pod(*pods().front(), "Running");
  EXPECT_EQ(count_of("pdb", "b", "currentHealthy"), 3);
  EXPECT_EQ(allowed(), 0);
}

TEST_F(DrainTest, APodIsEvictedOnlyAsItsBudgetAllows) {
  start_with_device();
  apply(deployment("web", 3));
  apply(budget(R"("minAvailable":2)"));
  run_devices();
  const std::vector<const Pod*> before = pods();
  const std::string first = before[0]->metadata.name, uid(before[0]->uid());
  const std::string second = before[1]->metadata.name, other(before[1]->uid());
  EXPECT_EQ(evict(first, uid).string_at("result"), "evicted");
  const Json blocked = evict(second, other);
  EXPECT_EQ(blocked.string_at("result"), "blocked");
  EXPECT_EQ(blocked.string_at("message"),
            "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget b needs 2 healthy "
            "pods and has 2 currently");
  run_devices();
  EXPECT_EQ(running(), 3u) << "its controller has made another";
  EXPECT_EQ(evict(second, other).string_at("result"), "evicted");
}

TEST_F(DrainTest, ARequestThatComesTwiceMeansTheSamePod) {
  start_with_device();
  apply(deployment("web", 1));
  run_devices();
  const std::string name = pods().front()->metadata.name, uid(pods().front()->uid());
  EXPECT_EQ(evict(name, uid).string_at("result"), "evicted");
  EXPECT_EQ(evict(name, uid).string_at("result"), "evicted");
  EXPECT_EQ(evict(name, "another").string_at("error"), "Pod \"default/" + name + "\" not found");
}

TEST_F(DrainTest, APodThatIsNotReadyIsEvictedByThePolicyOfItsBudget) {
  start_with_device();
  reports_ready = false;
  apply(deployment("web", 2));
  apply(budget(R"("minAvailable":1)"));
  run_devices();
  EXPECT_EQ(evict(*pods().front()).string_at("result"), "blocked");
  EXPECT_NE(apply(budget(R"("minAvailable":1,"unhealthyPodEvictionPolicy":"Never")"))
                .string_at("error")
                .find("spec.unhealthyPodEvictionPolicy: "),
            std::string::npos);
  apply(budget(R"("minAvailable":1,"unhealthyPodEvictionPolicy":"AlwaysAllow")"));
  EXPECT_EQ(evict(*pods().front()).string_at("result"), "evicted");
}

TEST_F(DrainTest, ABudgetThatComesLaterCoversPodsWithoutController) {
  start_with_device();
  apply(pod("own", "u1", "64Mi", "", R"({"app":"web"})"));
  run_devices();
  apply(budget(R"("minAvailable":1)"));
  EXPECT_EQ(count_of("pdb", "b", "currentHealthy"), 1);
  EXPECT_EQ(evict("own", "u1").string_at("result"), "blocked");
}

TEST_F(DrainTest, ACordonChangesNothingElseOfWhatIsSaidOfTheNode) {
  start_with_device();
  apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"site":"lab"}}})");
  EXPECT_EQ(cordon("n1", true).string_at("result"), "cordoned");
  EXPECT_EQ(cordon("n1", true).string_at("result"), "already cordoned");
  apply(pod("own", "u1"));
  run_devices();
  EXPECT_EQ(running(), 0u);
  EXPECT_EQ(cordon("n1", false).string_at("result"), "uncordoned");
  EXPECT_EQ(cordon("n1", false).string_at("result"), "already uncordoned");
  run_devices_for(10'000);
  EXPECT_EQ(running(), 1u);
  EXPECT_EQ(member(member(get("node", "n1"), "metadata"), "labels").string_at("site"), "lab");
  EXPECT_EQ(cordon("nobody", true).string_at("error"), "Node \"nobody\" not found");
}

}  // namespace
}  // namespace berth
