// Pods whose manifest has spec.nodeName: they go to that node past every Filter, if it admits them as a kubelet would.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class NamedNode : public GatewayTest {
 protected:
  NamedNode() {
    start_connected();
    device("n1");
    slots("n1", {});
    device("n2");
    slots("n2", {});
  }
  static std::string named(const std::string& name, const std::string& node, const std::string& more_spec = {},
                           const std::string& memory = "64Mi") {
    return pod(name, name, memory, R"(,"nodeName":")" + node + "\"" + more_spec);
  }
  void overlay(const std::string& spec, const std::string& labels = "{}") {
    apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":)" + labels + R"(},"spec":{)" + spec +
          "}}");
  }
  std::string node_of(const std::string& uid) const {
    const auto found = gateway->bindings().find(uid);
    return found == gateway->bindings().end() ? Text() : found->second.row.node;
  }
};

TEST_F(NamedNode, GoesThereAtOncePastFiltersAndScores) {
  overlay(R"("unschedulable":true,"taints":[{"key":"dedicated","effect":"NoSchedule"}])");
  const std::string apart = R"(,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{)"
                            R"("topologyKey":"kubernetes.io/hostname","labelSelector":{}}]}})";
  apply(named("a", "n1", apart));
  EXPECT_EQ(phase("a"), Phase::prebind);
  apply(named("b", "n1", apart));
  EXPECT_EQ(node_of("b"), "n1");
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("b"), Phase::bound);
}

TEST_F(NamedNode, WaitsForWhatAKubeletRejects) {
  apply(named("picky", "n1", R"(,"nodeSelector":{"camera":"yes"})", "4Gi"));
  EXPECT_EQ(phase("picky"), Phase::none);
  EXPECT_EQ(why("picky"),
            "node n1, which spec.nodeName names, does not admit the pod: node(s) didn't match Pod's node "
            "affinity/selector, Insufficient memory");
  device("n1", "i1", R"({"cpu":"2","memory":"8Gi","pods":"10"})");
  overlay("", R"({"camera":"yes"})");
  advance(20'000);
  EXPECT_EQ(node_of("picky"), "n1");
}

TEST_F(NamedNode, IsKeptAwayByNoExecuteUnlessItToleratesThat) {
  overlay(R"("taints":[{"key":"broken","effect":"NoExecute"},{"key":"dedicated","effect":"NoSchedule"}])");
  apply(named("a", "n1"));
  EXPECT_EQ(why("a"), "node n1, which spec.nodeName names, does not admit the pod: node(s) had untolerated taint(s)");
  apply(named("b", "n1", R"(,"tolerations":[{"key":"broken","operator":"Exists"}])"));
  EXPECT_EQ(node_of("b"), "n1");
  overlay(R"("taints":[{"key":"dedicated","effect":"NoSchedule"}])");
  advance(20'000);
  EXPECT_EQ(node_of("a"), "n1") << "the taint that is left is for the scheduler";
}

TEST_F(NamedNode, WaitsUntilTheNodeIsKnown) {
  apply(named("a", "n3"));
  EXPECT_EQ(why("a"), "node n3, which spec.nodeName names, is not known");
  device("n3");
  slots("n3", {});
  advance(20'000);
  EXPECT_EQ(node_of("a"), "n3");
}

TEST_F(NamedNode, WaitsUntilTheNodeCanBeAsked) {
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"1","online":false})");
  apply(named("a", "n1"));
  EXPECT_EQ(phase("a"), Phase::none);
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  slots("n1", {});
  advance(20'000);
  EXPECT_EQ(node_of("a"), "n1");
}

TEST_F(NamedNode, IsAskedAgainAfterTheDeviceRejectedIt) {
  apply(named("a", "n1"));
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(phase("a"), Phase::none);
  EXPECT_EQ(why("a"),
            "node n1, which spec.nodeName names, does not admit the pod: node(s) refused the pod: insufficient memory: "
            "64Mi asked, 40Mi free (n1)");
  advance(20'000);
  EXPECT_EQ(node_of("a"), "n1");
}

TEST_F(NamedNode, IsHeldByItsGatesFirst) {
  apply(named("a", "n1", R"(,"schedulingGates":[{"name":"site-ready"}])"));
  EXPECT_EQ(phase("a"), Phase::none);
}

TEST_F(NamedNode, IsExplainedByTheNodeThatItNames) {
  overlay(R"("unschedulable":true)");
  const Json planned = api(R"({"op":"plan","manifest":)" + named("a", "n1") + "}");
  const Json* trial = planned.find("trial");
  ASSERT_NE(trial, nullptr);
  EXPECT_EQ(*trial->find("node"), Json("n1"));
  EXPECT_EQ(*trial->find("chosen")->find("why"), Json("node that spec.nodeName names"));
  const Json unknown = api(R"({"op":"plan","manifest":)" + named("a", "n9") + "}");
  EXPECT_EQ(*unknown.find("trial")->find("message"), Json("node n9, which spec.nodeName names, is not known"));
}

}  // namespace
}  // namespace berth
