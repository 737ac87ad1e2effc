#include <gtest/gtest.h>

#include "core/api/node.h"
#include "plugins/dynamicresources.h"
#include "plugins/nodeaffinity.h"
#include "plugins/nodename.h"
#include "plugins/nodeunschedulable.h"
#include "plugins/prioritysort.h"
#include "plugins/registry.h"
#include "plugins/schedulinggates.h"
#include "plugins/tainttoleration.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

struct FilterCase {
  std::string name;
  std::string plugin;
  std::function<void(Pod&)> shape_pod;
  std::function<void(Node&)> shape_node;
  std::string want;  // the reason; empty: fits
};

class FilterTable : public ::testing::TestWithParam<FilterCase> {};

TEST_P(FilterTable, DecidesAsUpstream) {
  const FilterCase& param = GetParam();
  FakeHandle handle;
  const Registry registry = in_tree_registry();
  Result<std::unique_ptr<Plugin>> made = (*registry.find(param.plugin))(Json(), handle);
  ASSERT_TRUE(made.has_value());
  auto* plugin = dynamic_cast<FilterPlugin*>(made->get());
  ASSERT_NE(plugin, nullptr);
  Pod pod = make_pod("p");
  Node node = make_node("n1");
  if (param.shape_pod) param.shape_pod(pod);
  if (param.shape_node) param.shape_node(node);
  CycleState state;
  const Status status = plugin->filter(state, pod, info_of(node));
  EXPECT_EQ(status.message(), param.want);
  EXPECT_EQ(status.code(), param.want.empty() ? Code::success : Code::unresolvable);
}

Toleration tolerate(const std::string& key, Toleration::Operator op = Toleration::Operator::exists,
                    const std::string& value = "", std::optional<TaintEffect> effect = std::nullopt) {
  Toleration toleration;
  toleration.key = key;
  toleration.op = op;
  toleration.value = value;
  toleration.effect = effect;
  return toleration;
}

NodeSelector hosts(std::vector<std::string> names) {
  return {{{{{"kubernetes.io/hostname", Requirement::Operator::in, std::move(names)}}, {}}}};
}

NodeSelector named(std::vector<std::string> names) {
  return {{{{}, {{"metadata.name", Requirement::Operator::in, std::move(names)}}}}};
}

const char* const kTainted = "node(s) had untolerated taint(s)";
const char* const kAffinity = "node(s) didn't match Pod's node affinity/selector";

using Features = std::vector<std::string>;

std::function<void(Pod&)> needs(std::vector<Need> asked) {
  return [asked](Pod& pod) { pod.spec.edit().needs = asked; };
}

std::function<void(Node&)> tainted(TaintEffect effect) {
  return [effect](Node& node) { node.taints = {{"dedicated", "gpu", effect}}; };
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FilterTable,
    ::testing::Values(
        FilterCase{"AnyNode", "NodeName", nullptr, nullptr, ""},
        FilterCase{"ThisNode", "NodeName", [](Pod& pod) { pod.node_name = "n1"; }, nullptr, ""},
        FilterCase{"OtherNode", "NodeName", [](Pod& pod) { pod.node_name = "n2"; }, nullptr,
                   "node(s) didn't match the requested node name"},
        FilterCase{"NoNeeds", "NodeCapabilities", nullptr, [](Node& node) { node.declared_features = Features{}; }, ""},
        FilterCase{"HasTheFeature", "NodeCapabilities", needs({{"probes", "spec.p"}}),
                   [](Node& node) { node.declared_features = Features{"limits", "probes"}; }, ""},
        FilterCase{"DoesNotSay", "NodeCapabilities", needs({{"probes", "spec.p"}}), nullptr, ""},
        FilterCase{"LacksFeatures", "NodeCapabilities", needs({{"probes", "spec.p"}, {"secrets", "spec.s"}}),
                   [](Node& node) { node.declared_features = Features{"limits"}; },
                   "node(s) do not support spec.p (feature probes), node(s) do not support spec.s (feature secrets)"},
        FilterCase{"Cordoned", "NodeUnschedulable", nullptr, [](Node& node) { node.unschedulable = true; },
                   "node(s) were unschedulable"},
        FilterCase{"CordonTolerated", "NodeUnschedulable",
                   [](Pod& pod) { pod.spec.edit().tolerations = {tolerate("node.kubernetes.io/unschedulable")}; },
                   [](Node& node) { node.unschedulable = true; }, ""},
        FilterCase{"NoTaint", "TaintToleration", nullptr, nullptr, ""},
        FilterCase{"NoSchedule", "TaintToleration", nullptr, tainted(TaintEffect::no_schedule), kTainted},
        FilterCase{"NoExecute", "TaintToleration", nullptr, tainted(TaintEffect::no_execute), kTainted},
        FilterCase{"PreferNoSchedule", "TaintToleration", nullptr, tainted(TaintEffect::prefer_no_schedule), ""},
        FilterCase{
            "ToleratedByValue", "TaintToleration",
            [](Pod& pod) { pod.spec.edit().tolerations = {tolerate("dedicated", Toleration::Operator::equal, "gpu")}; },
            tainted(TaintEffect::no_schedule), ""},
        FilterCase{
            "OtherValue", "TaintToleration",
            [](Pod& pod) { pod.spec.edit().tolerations = {tolerate("dedicated", Toleration::Operator::equal, "cpu")}; },
            tainted(TaintEffect::no_schedule), kTainted},
        FilterCase{"OtherEffect", "TaintToleration",
                   [](Pod& pod) {
                     pod.spec.edit().tolerations = {
                         tolerate("dedicated", Toleration::Operator::exists, "", TaintEffect::no_execute)};
                   },
                   tainted(TaintEffect::no_schedule), kTainted},
        FilterCase{"NoSelector", "NodeAffinity", nullptr, nullptr, ""},
        FilterCase{"SelectorMatches", "NodeAffinity",
                   [](Pod& pod) { pod.node_selector["kubernetes.io/hostname"] = "n1"; }, nullptr, ""},
        FilterCase{"SelectorDiffers", "NodeAffinity",
                   [](Pod& pod) { pod.node_selector["kubernetes.io/hostname"] = "n2"; }, nullptr, kAffinity},
        FilterCase{"LabelMissing", "NodeAffinity", [](Pod& pod) { pod.node_selector["camera"] = ""; }, nullptr,
                   kAffinity},
        FilterCase{"AffinityMatches", "NodeAffinity",
                   [](Pod& pod) { pod.affinity->required_node_affinity = hosts({"n0", "n1"}); }, nullptr, ""},
        FilterCase{"AffinityDiffers", "NodeAffinity",
                   [](Pod& pod) { pod.affinity->required_node_affinity = hosts({"n0"}); }, nullptr, kAffinity},
        FilterCase{"AffinityByName", "NodeAffinity",
                   [](Pod& pod) { pod.affinity->required_node_affinity = named({"n1"}); }, nullptr, ""},
        FilterCase{"NoTermsMatchNothing", "NodeAffinity",
                   [](Pod& pod) { pod.affinity->required_node_affinity = NodeSelector(); }, nullptr, kAffinity},
        FilterCase{"SelectorAndAffinityMustBothMatch", "NodeAffinity",
                   [](Pod& pod) {
                     pod.affinity->required_node_affinity = hosts({"n1"});
                     pod.node_selector["camera"] = "yes";
                   },
                   nullptr, kAffinity}),
    [](const auto& param) { return param.param.name; });

Hint ask_hint(const EnqueueExtensions& plugin, const ClusterEvent& event, const Pod& pod, const EventObjects& objects) {
  for (const EventWithHint& each : plugin.events_to_register()) {
    if (each.event.matches(event) && (!each.hint || each.hint(pod, objects) == Hint::queue)) return Hint::queue;
  }
  return Hint::skip;
}

TEST(NodeAffinity, ReturnsTheNodesThatEveryTermNames) {
  NodeAffinity plugin;
  CycleState state;
  Pod pod = make_pod("p");
  PreFilterResult result;
  EXPECT_TRUE(plugin.pre_filter(state, pod, {}, result).is_skip());
  pod.affinity->required_node_affinity = named({"n1", "n2"});
  ASSERT_TRUE(plugin.pre_filter(state, pod, {}, result).is_success());
  EXPECT_EQ(result.node_names, (std::set<std::string>{"n1", "n2"}));
  pod.affinity->required_node_affinity->terms.push_back(hosts({"n3"}).terms[0]);
  PreFilterResult all;
  ASSERT_TRUE(plugin.pre_filter(state, pod, {}, all).is_success());
  EXPECT_FALSE(all.node_names) << "the second term may match any node";
}

TEST(NodeAffinity, RejectsTermsThatContradictThemselves) {
  NodeAffinity plugin;
  CycleState state;
  Pod pod = make_pod("p");
  pod.affinity->required_node_affinity = named({"n1"});
  pod.affinity->required_node_affinity->terms[0].match_fields.push_back(
      {"metadata.name", Requirement::Operator::in, {"n2"}});
  PreFilterResult result;
  const Status status = plugin.pre_filter(state, pod, {}, result);
  EXPECT_EQ(status.code(), Code::unresolvable);
  EXPECT_EQ(status.message(), "pod affinity terms conflict");
}

TEST(NodeAffinity, RequeuesWhenANodeStartsToMatch) {
  NodeAffinity plugin;
  Pod pod = make_pod("p");
  pod.node_selector["camera"] = "yes";
  EventObjects objects;
  Node node = make_node("n1");
  objects.new_node = share(node);
  const ClusterEvent added{EventResource::node, kAdd, ""};
  EXPECT_EQ(ask_hint(plugin, added, pod, objects), Hint::skip);
  objects.old_node = objects.new_node;
  node.metadata.labels["camera"] = "yes";
  objects.new_node = share(node);
  const ClusterEvent labelled{EventResource::node, kUpdateNodeLabel, ""};
  EXPECT_EQ(ask_hint(plugin, labelled, pod, objects), Hint::queue);
  objects.old_node = objects.new_node;
  EXPECT_EQ(ask_hint(plugin, labelled, pod, objects), Hint::skip) << "it matched before, so it was not the cause";
}

TEST(TaintToleration, PrefersFewUntoleratedSoftTaints) {
  TaintToleration plugin;
  CycleState state;
  Pod pod = make_pod("p");
  pod.spec.edit().tolerations = {tolerate("a", Toleration::Operator::exists, "", TaintEffect::prefer_no_schedule),
                                 tolerate("b", Toleration::Operator::exists, "", TaintEffect::no_schedule)};
  std::vector<NodeScore> scores;
  for (const auto& keys : std::vector<std::vector<std::string>>{{"a"}, {"a", "b"}, {"b", "c"}, {"b", "c", "d"}}) {
    Node node = make_node("n" + std::to_string(scores.size()));
    for (const std::string& key : keys) node.taints.push_back({key, "", TaintEffect::prefer_no_schedule});
    ASSERT_TRUE(plugin.pre_score(state, pod, {}).is_success());
    NodeScore score{node.metadata.name, 0};
    ASSERT_TRUE(plugin.score(state, pod, info_of(node), score.score).is_success());
    scores.push_back(score);
  }
  ASSERT_TRUE(plugin.normalize(state, pod, scores).is_success());
  std::vector<std::int64_t> got;
  for (const NodeScore& score : scores) got.push_back(score.score);
  EXPECT_EQ(got, (std::vector<std::int64_t>{100, 67, 34, 0}));
}

TEST(TaintToleration, ScoresAllNodesFullWhenNoneIsTainted) {
  TaintToleration plugin;
  CycleState state;
  std::vector<NodeScore> scores{{"n1", 0}, {"n2", 0}};
  ASSERT_TRUE(plugin.normalize(state, make_pod("p"), scores).is_success());
  EXPECT_EQ(scores[0].score, 100);
  EXPECT_EQ(scores[1].score, 100);
}

TEST(TaintToleration, RequeuesWhenTaintsBecomeTolerable) {
  TaintToleration plugin;
  const Pod pod = make_pod("p");
  const ClusterEvent event{EventResource::node, kUpdateNodeTaint, ""};
  Node node = make_node("n1");
  EventObjects objects;
  objects.new_node = share(node);
  node.taints = {{"x", "", TaintEffect::no_schedule}};
  objects.old_node = share(node);
  EXPECT_EQ(ask_hint(plugin, event, pod, objects), Hint::queue);
  std::swap(objects.old_node, objects.new_node);
  EXPECT_EQ(ask_hint(plugin, event, pod, objects), Hint::skip);
}

TEST(NodeUnschedulable, RequeuesWhenANodeIsUncordoned) {
  NodeUnschedulable plugin;
  const Pod pod = make_pod("p");
  const ClusterEvent event{EventResource::node, kUpdateNodeTaint, ""};
  Node node = make_node("n1");
  EventObjects objects;
  objects.new_node = share(node);
  node.unschedulable = true;
  objects.old_node = share(node);
  EXPECT_EQ(ask_hint(plugin, event, pod, objects), Hint::queue);
  std::swap(objects.old_node, objects.new_node);
  EXPECT_EQ(ask_hint(plugin, event, pod, objects), Hint::skip);
}

TEST(SchedulingGates, NamesTheGatesInTheirOrder) {
  SchedulingGates plugin;
  Pod pod = make_pod("p");
  EXPECT_TRUE(plugin.pre_enqueue(pod).is_success());
  pod.spec.edit().scheduling_gates = {"quota.io/wait", "example.com/b"};
  const Status status = plugin.pre_enqueue(pod);
  EXPECT_EQ(status.code(), Code::unresolvable);
  EXPECT_EQ(status.message(), "waiting for scheduling gates: [quota.io/wait example.com/b]");
}

TEST(SchedulingGates, IsRequeuedOnlyByThePodsOwnGates) {
  SchedulingGates plugin;
  const Pod pod = make_pod("p");
  const ClusterEvent event{EventResource::pod, kUpdatePodSchedulingGatesEliminated, ""};
  EventObjects objects;
  objects.new_pod = share(make_pod("other"));
  EXPECT_EQ(ask_hint(plugin, event, pod, objects), Hint::skip);
  objects.new_pod = share(pod);
  EXPECT_EQ(ask_hint(plugin, event, pod, objects), Hint::queue);
}

TEST(DynamicResources, KeepsAPodOutOfTheQueueUntilItsClaimsExist) {
  DynamicResources plugin;
  Pod pod = make_pod("my-pod");
  EXPECT_TRUE(plugin.pre_enqueue(pod).is_success());
  pod.spec.edit().resource_claims = {{"resource", "", "my-template"}};
  Status status = plugin.pre_enqueue(pod);
  EXPECT_EQ(status.code(), Code::unresolvable);
  EXPECT_EQ(status.message(), "pod \"default/my-pod\": ResourceClaim not created yet");
  pod.spec.edit().resource_claims = {{"resource", "my-claim", ""}, {"other", "", "my-template"}};
  status = plugin.pre_enqueue(pod);
  EXPECT_EQ(status.code(), Code::unresolvable);
  EXPECT_EQ(status.message(), "could not find resource claim \"default/my-claim\"");
  EXPECT_TRUE(plugin.events_to_register().empty()) << "nothing here makes a claim";
}

TEST(DynamicResources, AcceptsTheArgumentsOfUpstream) {
  FakeHandle handle;
  EXPECT_TRUE(DynamicResources::make(Json(), handle).has_value());
  EXPECT_TRUE(DynamicResources::make(*Json::parse(R"({"filterTimeout":"10s","bindingTimeout":"600s"})"), handle));
  EXPECT_EQ(DynamicResources::make(*Json::parse(R"({"filterTimeouts":"10s"})"), handle).error().message().substr(0, 19),
            "args.filterTimeouts");
}

TEST(PrioritySort, PutsHigherPriorityThenEarlierArrivalFirst) {
  PrioritySort plugin;
  QueuedPod a, b;
  Pod pod = make_pod("p");
  a.pod = share(pod);
  pod.priority = 1;
  b.pod = share(pod);
  EXPECT_TRUE(plugin.less(b, a));
  EXPECT_FALSE(plugin.less(a, b));
  b.pod = a.pod;
  b.timestamp = 1;
  EXPECT_TRUE(plugin.less(a, b));
  EXPECT_FALSE(plugin.less(b, a));
}

TEST(DefaultProfile, MakesAFramework) {
  FakeHandle handle;
  const Result<std::unique_ptr<Framework>> made = Framework::make(in_tree_registry(), default_profile(), handle);
  ASSERT_TRUE(made.has_value()) << made.error().message();
}

TEST(DefaultProfile, RejectsArgumentsUnknownToAPlugin) {
  FakeHandle handle;
  const Profile defaults = default_profile();
  for (const ProfilePlugin& entry : defaults.multi_point.enabled) {
    Profile profile = defaults;
    profile.args[entry.name].value.set("speed", 1);
    const Result<std::unique_ptr<Framework>> made = Framework::make(in_tree_registry(), profile, handle);
    ASSERT_FALSE(made.has_value());
    const std::string message = made.error().message();
    EXPECT_TRUE(message.starts_with("plugin \"" + entry.name + "\": args")) << message;
  }
}

}  // namespace
}  // namespace berth
