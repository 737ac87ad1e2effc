// explain and plan through the gateway's API: what the record says, and that asking leaves no trace.
#include "core/scheduler/explanation.h"

#include <gtest/gtest.h>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

const Json* at(const Json& json, std::initializer_list<std::string_view> path) {
  const Json* found = &json;
  for (const std::string_view step : path) {
    found = found == nullptr ? nullptr : found->find(step);
  }
  return found;
}

std::string text(const Json& json, std::initializer_list<std::string_view> path) {
  const Json* found = at(json, path);
  if (found == nullptr) return "absent";
  return found->is_string() ? found->as_string() : found->dump();
}

const Json& group(const Json& reply, std::size_t index) { return at(reply, {"trial", "groups"})->as_array().at(index); }

class Explain : public GatewayTest {
 protected:
  Json explain(const std::string& name, const std::string& more = "") {
    return api(R"({"op":"explain","namespace":"default","name":")" + name + "\"" + more + "}");
  }
  Json plan(const std::string& manifest, const std::string& more = "") {
    return api(R"({"op":"plan","manifest":)" + manifest + more + "}");
  }
  std::string last_event(const std::string& name) {
    const Json reply = describe_pod(name);
    const Json* events = reply.find("events");
    return events == nullptr || events->as_array().empty() ? "" : text(events->as_array().back(), {"message"});
  }
  void place(const std::string& name, const std::string& uid) {
    apply(pod(name, uid));
    const std::string node = gateway->bindings().at(uid).row.node;
    answer(node, AnswerType::pre_bound);
    answer(node, AnswerType::bound);
    ASSERT_EQ(phase(uid), Phase::bound);
  }
  void two_devices() {
    start_connected();
    device("n1");
    device("n2");
  }
};

TEST_F(Explain, TellsAPendingPodsRejectionInTheTextOfItsEvent) {
  two_devices();
  apply(pod("big", "u1", "4Gi"));
  const Json reply = explain("big");
  EXPECT_EQ(text(reply, {"why"}), last_event("big"));
  EXPECT_EQ(text(reply, {"trial", "message"}), last_event("big"));
  EXPECT_TRUE(text(reply, {"why"}).starts_with("0/2 nodes are available: 2 Insufficient memory"));
  EXPECT_EQ(text(reply, {"trial", "fits"}), "false");
  EXPECT_EQ(text(group(reply, 0), {"plugin"}), "NodeResourcesFit");
  EXPECT_EQ(text(group(reply, 0), {"code"}), "UnschedulableAndUnresolvable");
  EXPECT_EQ(text(group(reply, 0), {"reasons"}), R"(["Insufficient memory"])");
  EXPECT_EQ(text(group(reply, 0), {"names"}), R"(["n1","n2"])");
}

TEST_F(Explain, GroupsNodesByTheReasonTheyRejectFor) {
  two_devices();
  device("n3");
  apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"},"spec":{"unschedulable":true}})");
  apply(pod("big", "u1", "4Gi"));
  const Json reply = explain("big");
  ASSERT_EQ(at(reply, {"trial", "groups"})->as_array().size(), 2u);
  EXPECT_EQ(text(group(reply, 0), {"names"}), R"(["n1","n3"])");
  EXPECT_EQ(text(group(reply, 1), {"plugin"}), "NodeUnschedulable");
  EXPECT_EQ(text(group(reply, 1), {"names"}), R"(["n2"])");
}

TEST_F(Explain, NamesTheNodeThatIsAskedForFirst) {
  two_devices();
  device("n3");
  apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"},"spec":{"unschedulable":true}})");
  apply(pod("big", "u1", "4Gi"));
  EXPECT_EQ(text(group(explain("big", R"(,"node":"n2")"), 0), {"names"}), R"(["n2"])");
  EXPECT_EQ(text(group(explain("big", R"(,"node":"n3")"), 0), {"names"}), R"(["n3","n1"])");
}

TEST_F(Explain, AsksEveryFilterWhenAllAreRequested) {
  start_connected();
  device("n1");
  apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"spec":{"unschedulable":true}})");
  apply(pod("big", "u1", "4Gi"));
  const Json* few = group(explain("big"), 0).find("filters");
  EXPECT_EQ(few, nullptr);
  const Json reply = explain("big", R"(,"all_filters":true)");
  std::map<std::string, std::string> said;
  for (const Json& filter : group(reply, 0).find("filters")->as_array()) {
    said[text(filter, {"plugin"})] = text(filter, {"code"});
  }
  EXPECT_EQ(said["NodeUnschedulable"], "UnschedulableAndUnresolvable");
  EXPECT_EQ(said["NodeResourcesFit"], "UnschedulableAndUnresolvable");
  EXPECT_EQ(said["NodeName"], "Success");
}

TEST_F(Explain, AsksTheOtherFiltersAlsoWhenPreFilterRejectedThePod) {
  start_connected();
  device("n1");
  apply(pod("p", "u1", "4Gi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"none"}}])"));
  const Json reply = explain("p", R"(,"all_filters":true)");
  std::map<std::string, std::string> said;
  for (const Json& filter : group(reply, 0).find("filters")->as_array()) {
    said[text(filter, {"plugin"})] = text(filter, {"code"});
  }
  EXPECT_EQ(said["VolumeBinding"], "UnschedulableAndUnresolvable");
  EXPECT_EQ(said["NodeResourcesFit"], "UnschedulableAndUnresolvable");
}

TEST_F(Explain, TellsScoresThatAddUpToTheTotal) {
  start_connected();
  device("n1");
  device("n2", "i1", R"({"cpu":"4","memory":"4Gi","pods":"10"})");
  const Json reply = plan(pod("p", "u1"));
  EXPECT_EQ(text(reply, {"trial", "node"}), "n2");
  EXPECT_EQ(text(reply, {"trial", "chosen", "why"}), "highest total");
  const Json::Array& plugins = at(reply, {"trial", "scores", "plugins"})->as_array();
  const Json::Array& rows = at(reply, {"trial", "scores", "rows"})->as_array();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(text(rows[0], {"node"}), "n2");
  for (const Json& row : rows) {
    std::int64_t total = 0;
    ASSERT_EQ(row.find("raw")->as_array().size(), plugins.size());
    for (std::size_t i = 0; i < plugins.size(); ++i) {
      total += row.find("normalized")->as_array()[i].as_int() * plugins[i].find("weight")->as_int();
    }
    EXPECT_EQ(total, row.find("total")->as_int());
  }
  EXPECT_EQ(text(reply, {"trial", "chosen", "total"}), text(rows[0], {"total"}));
}

TEST_F(Explain, SaysWhenTheSeedDecidedAmongEquals) {
  options.seed = 42;
  two_devices();
  const Json reply = plan(pod("p", "u1"));
  EXPECT_EQ(text(reply, {"trial", "chosen", "why"}), "drawn among equals");
  EXPECT_EQ(text(reply, {"trial", "chosen", "ties"}), "2");
  EXPECT_EQ(text(reply, {"trial", "chosen", "seed"}), "42");
  apply(pod("p", "u1"));
  EXPECT_EQ(gateway->bindings().at("u1").row.node, text(reply, {"trial", "node"}));  // as the next cycle decides
}

TEST_F(Explain, SaysWhenOnlyOneNodeIsFeasible) {
  start_connected();
  device("n1");
  const Json reply = plan(pod("p", "u1"));
  EXPECT_EQ(text(reply, {"trial", "chosen", "why"}), "only feasible node");
  EXPECT_EQ(at(reply, {"trial", "scores"}), nullptr);
}

TEST_F(Explain, TellsAPlacedPodsRowAndATrialThatDoesNotCountIt) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"1"})");
  bind_pod("p", "u1", "n1");
  const Json reply = explain("p");
  EXPECT_EQ(text(reply, {"placed"}), "true");
  EXPECT_EQ(text(reply, {"placement", "node"}), "n1");
  EXPECT_EQ(text(reply, {"placement", "phase"}), "bound");
  EXPECT_NE(text(reply, {"placement", "epoch"}), "absent");
  EXPECT_EQ(text(reply, {"trial", "fits"}), "true");  // the one place of n1 is its own
  EXPECT_EQ(text(plan(pod("q", "u2")), {"trial", "fits"}), "false");
}

TEST_F(Explain, TellsTheQueuePositionAndWhatWouldWakeThePod) {
  two_devices();
  apply(pod("big", "u1", "4Gi"));
  const Json reply = explain("big");
  EXPECT_EQ(text(reply, {"queue", "place"}), "unschedulable");
  EXPECT_EQ(text(reply, {"queue", "attempts"}), "1");
  EXPECT_EQ(text(reply, {"queue", "plugins"}), R"(["NodeResourcesFit"])");
  bool node_add = false;
  for (const Json& waker : at(reply, {"queue", "wokenBy"})->as_array()) {
    EXPECT_EQ(text(waker, {"plugin"}), "NodeResourcesFit");
    const std::string actions = text(waker, {"actions"});
    if (text(waker, {"resource"}) == "Node" && actions.find("\"Add\"") != std::string::npos) node_add = true;
  }
  EXPECT_TRUE(node_add);
  EXPECT_GT(at(reply, {"queue", "dueInMs"})->as_int(), 5 * 60'000);
}

TEST_F(Explain, TellsAGatedPodsGatesAndWhereItWouldGo) {
  start_connected();
  device("n1");
  const std::string gated = pod("g", "u1", "64Mi", R"(,"schedulingGates":[{"name":"site-ready"}])");
  const Json planned = plan(gated);
  EXPECT_EQ(text(planned, {"gatedBy"}), "SchedulingGates");
  apply(gated);
  const Json reply = explain("g");
  EXPECT_EQ(text(reply, {"queue", "place"}), "gated");
  EXPECT_EQ(text(reply, {"queue", "gatedBy"}), "SchedulingGates");
  EXPECT_EQ(text(reply, {"why"}), "waiting for scheduling gates: [site-ready]");
  EXPECT_EQ(text(reply, {"trial", "node"}), "n1");
}

TEST_F(Explain, TellsThatAPodWithAResourceClaimWaitsForIt) {
  start_connected();
  device("n1");
  const std::string pod_with_claim =
      pod("gpu", "u1", "64Mi", R"(,"resourceClaims":[{"name":"r","resourceClaimName":"my-claim"}])");
  const std::string why = "could not find resource claim \"default/my-claim\"";
  const Json planned = plan(pod_with_claim);
  EXPECT_EQ(text(planned, {"gatedBy"}), "DynamicResources");
  EXPECT_EQ(text(planned, {"gate"}), why);
  apply(pod_with_claim);
  const Json reply = explain("gpu");
  EXPECT_EQ(text(reply, {"placed"}), "false");
  EXPECT_EQ(text(reply, {"queue", "gatedBy"}), "DynamicResources");
  EXPECT_EQ(text(reply, {"why"}), why);
  EXPECT_EQ(text(describe_pod("gpu"), {"object", "status", "message"}), why);
}

TEST_F(Explain, FindsNoPodOfAnUnknownName) {
  start_connected();
  EXPECT_EQ(text(explain("ghost"), {"error"}), "Pod \"default/ghost\" not found");
  EXPECT_EQ(text(api(R"({"op":"explain"})"), {"error"}), "name: expected the name of a pod");
}

TEST_F(Explain, PlanRefusesAManifestAsApplyDoes) {
  two_devices();
  place("old", "u9");
  for (const std::string& manifest :
       {std::string(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"UPPER"},"spec":{"containers":[]}})"),
        std::string(R"({"apiVersion":"v1","kind":"Nothing"})"), pod("p", "u1", "much"),
        pod("p", "u1", "1Mi", R"(,"schedulerName":"other")"), pod("p", "u1", "1Mi", R"(,"priorityClassName":"none")"),
        pod("p", "u9"), pod("old", "u9", "999Mi"), pod("p", "no/uid")}) {
    const Json planned = plan(manifest);
    const Json applied = apply(manifest);
    EXPECT_EQ(text(planned, {"ok"}), "false") << manifest;
    EXPECT_EQ(text(planned, {"error"}), text(applied, {"error"})) << manifest;
    EXPECT_EQ(text(planned, {"reasons"}), text(applied, {"reasons"})) << manifest;
  }
  EXPECT_EQ(text(plan(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n9"}})"), {"error"}),
            "kind: only a Pod can be planned, not a Node; apply it");
  EXPECT_EQ(text(api(R"({"op":"plan"})"), {"error"}), "manifest: expected a JSON object");
}

TEST_F(Explain, PlanOfAPodThatIsThereDoesNotCountItTwice) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"1"})");
  bind_pod("p", "u1", "n1");
  const Json reply = plan(pod("p", "u1", "64Mi", "", R"({"new":"label"})"));
  EXPECT_EQ(text(reply, {"exists"}), "true");
  EXPECT_EQ(text(reply, {"trial", "fits"}), "true");
}

TEST_F(Explain, AbbreviatesALargeFleetWithExactCounts) {
  start_connected();
  const std::string tail(50, 'x');
  for (int i = 0; i < 900; ++i) device("device-" + std::to_string(1000 + i) + "-" + tail);
  apply(pod("big", "u1", "4Gi"));
  for (const std::string& more : {std::string(), std::string(R"(,"all_filters":true)")}) {
    const Json reply = explain("big", more);
    EXPECT_LT(reply.dump().size(), 60'000u);
    const Json& all = group(reply, 0);
    const std::size_t named = all.find("names")->as_array().size();
    EXPECT_EQ(text(all, {"count"}), "900");
    EXPECT_GT(named, 10u);
    EXPECT_EQ(named + static_cast<std::size_t>(all.find("more")->as_int()), 900u);
  }
  const Json fits = plan(pod("small", "u2"), R"(,"all_filters":true)");
  EXPECT_LT(fits.dump().size(), 60'000u);
  const std::size_t rows = at(fits, {"trial", "scores", "rows"})->as_array().size();
  EXPECT_EQ(rows + static_cast<std::size_t>(at(fits, {"trial", "scores", "more"})->as_int()), 900u);
}

// Everything durable and visible: what the store was given, queue, cache, timers, what was sent but the answers.
class ExplainTrace : public Explain {
 protected:
  std::string face() {
    std::string text = std::to_string(store.commits()) + " " + std::to_string(store.changes()) + "\n";
    for (const std::string& uid : gateway->scheduler().queue().uids()) {
      const QueuedPod* queued = gateway->scheduler().queue().find(uid);
      text += uid + " " + std::to_string(static_cast<int>(gateway->scheduler().queue().where(uid))) + " " +
              std::to_string(queued == nullptr ? 0 : queued->attempts) + " " +
              std::to_string(gateway->scheduler().queue().due(uid).value_or(-1)) + "\n";
    }
    text += std::to_string(gateway->scheduler().cache().pod_count()) + " " +
            std::to_string(gateway->scheduler().cache().assumed_count());
    std::size_t said = 0;
    for (const Message& message : transport.sent) said += message.topic == topics.client("op") ? 0 : 1;
    return text + " " + std::to_string(gateway->scheduler().queue().nominator().by_node().size()) + " " +
           std::to_string(said) + " " + std::to_string(timers.next().value_or(-1)) + " " +
           std::to_string(gateway->objects().pods().all().size());
  }
};

TEST_F(ExplainTrace, ExplainAndPlanLeaveNone) {
  two_devices();
  place("placed", "u1");
  apply(pod("big", "u2", "4Gi"));
  apply(pod("gated", "u3", "64Mi", R"(,"schedulingGates":[{"name":"site-ready"}])"));
  const std::string before = face();
  for (const std::string& more : {std::string(), std::string(R"(,"all_filters":true)")}) {
    for (const char* name : {"placed", "big", "gated", "none"}) explain(name, more);
    for (const char* memory : {"64Mi", "4Gi"}) plan(pod("new", "", memory), more);
  }
  EXPECT_EQ(face(), before);
}

// The same life of a fleet; gives who went where. `ask`: with questions between all steps.
class ExplainDeterminism : public Explain, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void ask_much(const std::string& name) {
    explain(name);
    explain(name, R"(,"all_filters":true)");
    plan(pod("what-if", ""));
    plan(pod("too-big", "", "64Gi"), R"(,"all_filters":true)");
    plan(pod(name, ""));
  }
  std::map<std::string, std::string> life(bool ask) {
    start_connected();
    for (int i = 0; i < 6; ++i) device("n" + std::to_string(i));
    Random chance(GetParam());
    std::map<std::string, std::string> placed;
    for (int i = 0; i < 14; ++i) {
      const std::string name = "p" + std::to_string(i);
      const std::string uid = "u" + std::to_string(i);
      apply(pod(name, uid, std::to_string(64 * (1 + chance.below(4))) + "Mi"));
      if (ask) ask_much(name);
      if (const auto found = gateway->bindings().find(uid); found != gateway->bindings().end()) {
        const std::string node = found->second.row.node;
        placed[name] = node;
        answer(node, AnswerType::pre_bound);
        if (ask) ask_much(name);
        answer(node, AnswerType::bound);
      }
      if (ask) ask_much(name);
      if (chance.chance(1, 4)) api(R"({"op":"delete","kind":"Pod","namespace":"default","name":")" + name + R"("})");
      advance(static_cast<Millis>(chance.below(2000)));
    }
    return placed;
  }
};

TEST_P(ExplainDeterminism, QuestionsChangeNoLaterDecision) {
  options.seed = GetParam();
  const std::map<std::string, std::string> asked = life(true);
  EXPECT_GT(asked.size(), 7u);
  gateway.reset();
  store = MemoryStore();
  timers = Timers();
  clock.now_ms = 1000;
  transport.sent.clear();
  transport.up = false;
  EXPECT_EQ(asked, life(false));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExplainDeterminism, ::testing::Range<std::uint64_t>(1, 5));

}  // namespace
}  // namespace berth
