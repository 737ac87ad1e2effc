#include <gtest/gtest.h>

#include "firmware-host/gateway/scheduler_config.h"
#include "firmware-host/yaml.h"
#include "plugins/registry.h"

namespace berth {
namespace {

using Texts = std::vector<std::string>;

const std::string kHead = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

Result<SchedulerConfig> parse(const std::string& body) {
  return parse_scheduler_config("s.yaml", kHead + body, in_tree_registry());
}

Texts errors(const std::string& body) {
  const Result<SchedulerConfig> config = parse(body);
  return config ? Texts{} : config.error().reasons();
}

// The plugins that run at an extension point of a profile, with weights at score: "A B=3".
std::string at(const SchedulerConfig& config, std::string_view point, std::size_t profile = 0) {
  const Json* plugins = config.completed.find("profiles")->as_array().at(profile).find("plugins");
  const Json* set = plugins->find(point);
  std::string text;
  if (set == nullptr || set->find("enabled") == nullptr) return text;
  for (const Json& item : set->find("enabled")->as_array()) {
    text += (text.empty() ? "" : " ") + item.find("name")->as_string();
    if (const Json* weight = item.find("weight")) text += "=" + std::to_string(weight->as_int());
  }
  return text;
}

TEST(SchedulerConfig, IsTheDefaultProfileWithoutAFile) {
  const auto config = read_scheduler_config("", in_tree_registry());
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_EQ(config->profiles.size(), 1u);
  EXPECT_EQ(config->profiles[0].scheduler_name, "default-scheduler");
  EXPECT_EQ(config->pod_initial_backoff_ms, 1000);
  EXPECT_EQ(config->pod_max_backoff_ms, 10000);
  EXPECT_EQ(config->completed.find("percentageOfNodesToScore")->as_int(), 0);
  EXPECT_EQ(at(*config, "queueSort"), "PrioritySort");
  EXPECT_EQ(at(*config, "bind"), "DefaultBinder");
  EXPECT_TRUE(at(*config, "filter").starts_with("NodeUnschedulable NodeName TaintToleration NodeAffinity"));
  EXPECT_NE(at(*config, "score").find("TaintToleration=3"), std::string::npos);
}

TEST(SchedulerConfig, ReadsEveryField) {
  const auto config = parse(R"(
percentageOfNodesToScore: 40
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
profiles:
- schedulerName: default-scheduler
- schedulerName: packed
  percentageOfNodesToScore: 0
  plugins:
    multiPoint:
      enabled:
      - {name: NodeResourcesFit, weight: 5}
      disabled:
      - {name: NodeUnschedulable}
    filter:
      enabled:
      - {name: TaintToleration}
      disabled:
      - {name: NodeName}
    score:
      enabled:
      - {name: TaintToleration, weight: 7}
  pluginConfig:
  - name: NodeName
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeNameArgs}
)");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->pod_initial_backoff_ms, 2000);
  EXPECT_EQ(config->pod_max_backoff_ms, 20000);
  ASSERT_EQ(config->profiles.size(), 2u);
  EXPECT_EQ(config->profiles[0].percentage_of_nodes_to_score, 40);
  EXPECT_EQ(config->profiles[1].percentage_of_nodes_to_score, 0);
  EXPECT_EQ(config->profiles[1].scheduler_name, "packed");
  EXPECT_TRUE(at(*config, "filter", 1).starts_with("TaintToleration NodeAffinity"));
  EXPECT_EQ(at(*config, "filter", 1).find("NodeName"), std::string::npos);
  EXPECT_TRUE(at(*config, "score", 1).starts_with("TaintToleration=7"));
  EXPECT_NE(at(*config, "score", 1).find("NodeResourcesFit=5"), std::string::npos);
  EXPECT_NE(at(*config, "score", 0).find("TaintToleration=3"), std::string::npos);
}

TEST(SchedulerConfig, DisablesAllWithAStarAndEnablesTheRestInOrder) {
  const auto config = parse(R"(
profiles:
- plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: DefaultBinder}, {name: PrioritySort}, {name: TaintToleration}, {name: NodeName}]
    score:
      disabled: [{name: "*"}]
)");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(at(*config, "filter"), "TaintToleration NodeName");
  EXPECT_EQ(at(*config, "preScore"), "TaintToleration");
  EXPECT_EQ(at(*config, "score"), "");
  EXPECT_EQ(at(*config, "preEnqueue"), "");
}

TEST(SchedulerConfig, PrintedConfigurationReadsBackUnchanged) {
  const char* bodies[] = {
      "",
      "percentageOfNodesToScore: 30\nprofiles:\n- {schedulerName: a}\n- {schedulerName: b, percentageOfNodesToScore: "
      "0}\n",
      "profiles:\n- plugins:\n    score: {enabled: [{name: TaintToleration, weight: 9}], disabled: [{name: '*'}]}\n"
      "    filter: {disabled: [{name: NodeName}], enabled: [{name: NodeResourcesFit}]}\n"
      "  pluginConfig: [{name: NodeName, args: {}}, {name: NodeAffinity, args: null}]\n",
  };
  for (const char* body : bodies) {
    SCOPED_TRACE(body);
    const auto once = parse(body);
    ASSERT_TRUE(once) << once.error().message();
    const std::string printed = dump_yaml(once->completed);
    const auto twice = parse_scheduler_config("again.yaml", printed, in_tree_registry());
    ASSERT_TRUE(twice) << twice.error().message();
    EXPECT_EQ(dump_yaml(twice->completed), printed);
  }
}

TEST(SchedulerConfig, PrintsTheArgumentsOfEveryPluginThatTakesSome) {
  struct Case {
    const char* plugin;
    const char* given;
    const char* completed;
  };
  const Case cases[] = {
      {"InterPodAffinity", "{}", R"({"hardPodAffinityWeight":1,"ignorePreferredTermsOfExistingPods":false})"},
      {"InterPodAffinity", "{hardPodAffinityWeight: 7}",
       R"({"hardPodAffinityWeight":7,"ignorePreferredTermsOfExistingPods":false})"},
      {"DefaultPreemption", "{minCandidateNodesAbsolute: 5}",
       R"({"minCandidateNodesPercentage":10,"minCandidateNodesAbsolute":5})"},
      {"PodTopologySpread", "{}", R"({"defaultingType":"System"})"},
      {"PodTopologySpread",
       "{defaultingType: List, defaultConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
       "minDomains: 3}]}",
       R"({"defaultConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
       R"("nodeAffinityPolicy":"Honor","nodeTaintsPolicy":"Ignore","minDomains":3}],"defaultingType":"List"})"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.given);
    const auto once =
        parse("profiles: [{pluginConfig: [{name: " + std::string(each.plugin) + ", args: " + each.given + "}]}]\n");
    ASSERT_TRUE(once) << once.error().message();
    const Json* configs = once->completed.find("profiles")->as_array()[0].find("pluginConfig");
    bool printed = false;
    for (const Json& config : configs->as_array()) {
      if (*config.find("name") != Json(each.plugin)) continue;
      Json args = *config.find("args");
      args.erase("kind");
      args.erase("apiVersion");
      EXPECT_EQ(args.dump(), each.completed);
      printed = true;
    }
    EXPECT_TRUE(printed);
    const auto twice = parse_scheduler_config("again.yaml", dump_yaml(once->completed), in_tree_registry());
    ASSERT_TRUE(twice) << twice.error().message();
    EXPECT_EQ(twice->completed, once->completed);
  }
}

TEST(SchedulerConfig, NamesFileLineColumnAndField) {
  struct Case {
    const char* body;
    const char* error;
  };
  const Case cases[] = {
      {"profile: []\n", "s.yaml:3:1: profile: unknown field; did you mean profiles?"},
      {"podInitialBackoffSeconds: 0\n", "s.yaml:3:1: podInitialBackoffSeconds: expected an integer from 1"},
      {"podInitialBackoffSeconds: 20\n", "s.yaml:1:1: podMaxBackoffSeconds: must not be less than"},
      {"percentageOfNodesToScore: 101\n",
       "s.yaml:3:1: percentageOfNodesToScore: expected an integer from 0 to 100, got 101"},
      {"profiles: [{percentageOfNodesToScore: -1}]\n",
       "s.yaml:3:13: profiles[0].percentageOfNodesToScore: expected an integer from 0 to 100, got -1"},
      {"profiles: [{schedulerName: ''}]\n", "s.yaml:3:13: profiles[0].schedulerName: missing; set the name"},
      {"profiles: [{schedulerName: a}, {}]\n", "s.yaml:3:32: profiles[1].schedulerName: missing; set the name"},
      {"profiles: [{schedulerName: a}, {schedulerName: a}]\n",
       "s.yaml:3:33: profiles[1].schedulerName: duplicate name \"a\", already used by profiles[0]; names must be "
       "unique"},
      {"profiles: [{plugins: {score: {enabled: [{name: NodeResourcesFit}, {name: X}]}}}]\n",
       "s.yaml:3:68: profiles[0].plugins.score.enabled[1].name: plugin \"X\" is unknown; known plugins: "},
      {"profiles: [{plugins: {multiPoint: {enabled: [{name: '*'}]}}}]\n",
       "s.yaml:3:47: profiles[0].plugins.multiPoint.enabled[0].name: plugin \"*\" is unknown; known plugins: "},
      {"profiles: [{plugins: {filter: {disabled: [{name: NodeNmae}]}}}]\n",
       "s.yaml:3:44: profiles[0].plugins.filter.disabled[0].name: plugin \"NodeNmae\" is unknown; known plugins: "},
      {"profiles: [{plugins: {filter: {enabled: [{}]}}}]\n",
       "s.yaml:3:42: profiles[0].plugins.filter.enabled[0].name: missing; expected the name of a plugin"},
      {"profiles: [{plugins: {filter: {enabled: [{name: NodeName, weight: 1}]}}}]\n",
       "s.yaml:3:59: profiles[0].plugins.filter.enabled[0].weight: only score and multiPoint have weights; remove it"},
      {"profiles: [{plugins: {score: {enabled: [{name: NodeResourcesFit, weight: -1}]}}}]\n",
       "s.yaml:3:66: profiles[0].plugins.score.enabled[0].weight: expected an integer from 0"},
      {"profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]\n",
       "s.yaml:3:41: profiles[0].plugins.score.enabled[0]: plugin \"NodeName\" does not implement score; remove it "
       "here"},
      {"profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}}]\n",
       "s.yaml:3:60: profiles[0].plugins.filter.enabled[1]: plugin \"NodeName\" is listed twice for filter; keep one"},
      {"profiles: [{plugins: {multiPoint: {enabled: [{name: NodeName}, {name: NodeName}]}}}]\n",
       "s.yaml:3:46: profiles[0].plugins.multiPoint.enabled[0]: plugin \"NodeName\" is listed twice for filter"},
      {"profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]\n",
       "s.yaml:3:23: profiles[0].plugins.queueSort: no plugin sorts the queue; enable one, such as PrioritySort"},
      {"profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]\n",
       "s.yaml:3:23: profiles[0].plugins.bind: no plugin binds pods; enable at least one, such as DefaultBinder"},
      {"profiles: [{plugins: {filters: {}}}]\n",
       "s.yaml:3:23: profiles[0].plugins.filters: unknown field; did you mean"},
      {"profiles: [{pluginConfig: [{name: Y}]}]\n",
       "s.yaml:3:29: profiles[0].pluginConfig[0].name: plugin \"Y\" is unknown; known plugins: "},
      {"profiles: [{pluginConfig: [{name: NodeName}, {name: NodeName}]}]\n",
       "s.yaml:3:47: profiles[0].pluginConfig[1].name: another entry configures NodeName; keep one"},
      {"profiles: [{pluginConfig: [{name: NodeName, args: {kind: NodeAffinityArgs}}]}]\n",
       "s.yaml:3:52: profiles[0].pluginConfig[0].args.kind: expected NodeNameArgs, got \"NodeAffinityArgs\""},
      {"profiles: [{pluginConfig: [{name: NodeName, args: {apiVersion: v1beta3}}]}]\n",
       "s.yaml:3:52: profiles[0].pluginConfig[0].args.apiVersion: expected kubescheduler.config.k8s.io/v1"},
      {"profiles: [{pluginConfig: [{name: NodeName, args: 5}]}]\n",
       "s.yaml:3:45: profiles[0].pluginConfig[0].args: expected an object, got 5"},
      {"profiles: [{pluginConfig: [{name: NodeName, args: {speed: 5}}]}]\n",
       "s.yaml:3:45: profiles[0].pluginConfig[0].args: this plugin takes no arguments; remove them"},
      {"profiles: [\n", "s.yaml:4:1: invalid YAML"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.body);
    const Texts found = errors(c.body);
    ASSERT_EQ(found.size(), 1u) << found.front();
    EXPECT_EQ(found[0].substr(0, std::string_view(c.error).size()), c.error);
  }
}

TEST(SchedulerConfig, RequiresItsKindAndVersion) {
  const Registry registry = in_tree_registry();
  EXPECT_EQ(parse_scheduler_config("s.yaml", "", registry).error().reasons(),
            (Texts{"s.yaml:1:1: apiVersion: missing; expected kubescheduler.config.k8s.io/v1",
                   "s.yaml:1:1: kind: missing; expected KubeSchedulerConfiguration"}));
  const auto old = parse_scheduler_config(
      "s.yaml", "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n", registry);
  EXPECT_EQ(old.error().message(),
            "s.yaml:1:1: apiVersion: expected kubescheduler.config.k8s.io/v1, got "
            "\"kubescheduler.config.k8s.io/v1beta3\"; did you mean kubescheduler.config.k8s.io/v1?");
}

TEST(SchedulerConfig, WarnsOnceOfEachFieldWithoutAMeaningHere) {
  for (const char* field :
       {"parallelism: 16", "leaderElection: {leaderElect: false}", "clientConnection: {}", "enableProfiling: true",
        "enableContentionProfiling: true", "delayCacheUntilActive: false", "percentageOfPlacementsToScore: 10"}) {
    SCOPED_TRACE(field);
    const auto config = parse(field + std::string("\n"));
    ASSERT_TRUE(config) << config.error().message();
    ASSERT_EQ(config->warnings.size(), 1u);
    const std::string name(std::string_view(field).substr(0, std::string_view(field).find(':')));
    EXPECT_TRUE(config->warnings[0].starts_with("s.yaml:3:1: " + name + ": has no meaning here and is ignored: "))
        << config->warnings[0];
  }
}

// As kube-scheduler 1.35 --write-config-to writes it, with the settings that kubeadm gives it.
constexpr const char* kOfKubeScheduler = R"(
clientConnection:
  acceptContentTypes: ""
  burst: 100
  contentType: application/vnd.kubernetes.protobuf
  kubeconfig: /etc/kubernetes/scheduler.conf
  qps: 50
delayCacheUntilActive: false
enableContentionProfiling: true
enableProfiling: true
leaderElection:
  leaderElect: true
  leaseDuration: 15s
  renewDeadline: 10s
  resourceLock: leases
  resourceName: kube-scheduler
  resourceNamespace: kube-system
  retryPeriod: 2s
parallelism: 16
percentageOfNodesToScore: 0
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 10
profiles:
- pluginConfig:
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: DefaultPreemptionArgs
      minCandidateNodesAbsolute: 100
      minCandidateNodesPercentage: 10
    name: DefaultPreemption
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      bindingTimeout: 10m0s
      filterTimeout: 10s
      kind: DynamicResourcesArgs
    name: DynamicResources
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      hardPodAffinityWeight: 1
      ignorePreferredTermsOfExistingPods: false
      kind: InterPodAffinityArgs
    name: InterPodAffinity
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeAffinityArgs
    name: NodeAffinity
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesBalancedAllocationArgs
      resources:
      - name: cpu
        weight: 1
      - name: memory
        weight: 1
    name: NodeResourcesBalancedAllocation
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        resources:
        - name: cpu
          weight: 1
        - name: memory
          weight: 1
        type: LeastAllocated
    name: NodeResourcesFit
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      defaultingType: System
      kind: PodTopologySpreadArgs
    name: PodTopologySpread
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      bindTimeoutSeconds: 600
      kind: VolumeBindingArgs
    name: VolumeBinding
  plugins:
    bind: {}
    filter: {}
    multiPoint:
      enabled:
      - {name: SchedulingGates, weight: 0}
      - {name: PrioritySort, weight: 0}
      - {name: NodeUnschedulable, weight: 0}
      - {name: NodeName, weight: 0}
      - {name: TaintToleration, weight: 3}
      - {name: NodeAffinity, weight: 2}
      - {name: NodePorts, weight: 0}
      - {name: NodeResourcesFit, weight: 1}
      - {name: VolumeRestrictions, weight: 0}
      - {name: NodeVolumeLimits, weight: 0}
      - {name: VolumeBinding, weight: 0}
      - {name: VolumeZone, weight: 0}
      - {name: PodTopologySpread, weight: 2}
      - {name: InterPodAffinity, weight: 2}
      - {name: DynamicResources, weight: 2}
      - {name: DefaultPreemption, weight: 0}
      - {name: NodeResourcesBalancedAllocation, weight: 1}
      - {name: ImageLocality, weight: 1}
      - {name: DefaultBinder, weight: 0}
    permit: {}
    postBind: {}
    postFilter: {}
    preBind: {}
    preEnqueue: {}
    preFilter: {}
    preScore: {}
    queueSort: {}
    reserve: {}
    score: {}
  schedulerName: default-scheduler
)";

TEST(SchedulerConfig, TakesAFileOfKubeSchedulersOwn) {
  const auto config = parse(kOfKubeScheduler);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->warnings.size(), 6u);
  const auto own = read_scheduler_config("", in_tree_registry());
  ASSERT_TRUE(own) << own.error().message();
  for (const char* point : {"queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "bind"}) {
    EXPECT_EQ(at(*config, point), at(*own, point)) << point;
  }
}

// A profile that is written out for kube-scheduler names its plugins only.
TEST(SchedulerConfig, WarnsOfAProfileWithoutTheFiltersThatKnowDevices) {
  const auto config = parse(R"(
profiles:
- schedulerName: plain
- schedulerName: upstream
  plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: DefaultBinder}, {name: PrioritySort}, {name: NodeName}]
- schedulerName: half
  plugins:
    filter: {disabled: [{name: DeviceRefusals}]}
)");
  ASSERT_TRUE(config) << config.error().message();
  const std::string what =
      ", Berth's own: devices are asked for what they cannot do or have refused; enable them too, see "
      "plugins/README.md";
  EXPECT_EQ(config->warnings,
            (Texts{"s.yaml:7:3: profiles[1].plugins: profile upstream has switched off NodeCapabilities and "
                   "DeviceRefusals" +
                       what,
                   "s.yaml:12:3: profiles[2].plugins: profile half has switched off DeviceRefusals" + what}));
}

TEST(SchedulerConfig, RefusesUnsupportedFieldsByName) {
  EXPECT_EQ(errors("extenders: []\n"), Texts{}) << "none are asked for";
  EXPECT_EQ(errors("extenders: [{urlPrefix: \"http://x\"}]\n"),
            Texts{"s.yaml:3:1: extenders: not supported: compile your own plugins in instead, see plugins/README.md; "
                  "remove it"});
  EXPECT_TRUE(errors("profiles: [{pluginConfig: [{name: GangScheduling, args: {}}]}]\n")[0].starts_with(
      "s.yaml:3:29: profiles[0].pluginConfig[0].name: plugin \"GangScheduling\" is unknown"));
  EXPECT_EQ(errors("profiles: [{plugins: {multiPoint: {disabled: [{name: GangScheduling}]}}}]\n"), Texts{})
      << "it is not there to disable";
}

TEST(SchedulerConfig, ReportsAllErrorsAtOnce) {
  EXPECT_EQ(errors("extenders: [{}]\npodMaxBackoffSeconds: x\nprofiles: [{plugins: {filter: {enabled: [{name: X}]}, "
                   "score: {enabled: [{name: Y}]}}}]\n")
                .size(),
            4u);
}

class OtherSort final : public QueueSortPlugin {
 public:
  explicit OtherSort(Json args) : args_(std::move(args)) {}
  std::string_view name() const override { return "OtherSort"; }
  Json args() const override { return args_; }
  bool less(const QueuedPod&, const QueuedPod&) const override { return false; }

 private:
  Json args_;
};

TEST(SchedulerConfig, RequiresOneQueueSortForAllProfiles) {
  Registry registry = in_tree_registry();
  ASSERT_TRUE(
      registry
          .add("OtherSort", [](const Json& args,
                               Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<OtherSort>(args)); })
          .is_success());
  const std::string other = "plugins: {queueSort: {disabled: [{name: '*'}], enabled: [{name: OtherSort}]}}";
  auto reasons = [&](const std::string& body) {
    const auto config = parse_scheduler_config("s.yaml", kHead + body, registry);
    return config ? Texts{} : config.error().reasons();
  };
  EXPECT_EQ(reasons("profiles: [{schedulerName: a, " + other + "}, {schedulerName: b, " + other + "}]\n"), Texts{});
  EXPECT_EQ(reasons("profiles:\n- {schedulerName: a}\n- {schedulerName: b, " + other + "}\n"),
            (Texts{"s.yaml:5:32: profiles[1].plugins.queueSort: OtherSort here, but PrioritySort in profiles[0]; all "
                   "profiles share one queue, use the same plugin"}));
  EXPECT_EQ(reasons("profiles:\n- {schedulerName: a, " + other + "}\n- {schedulerName: b, " + other +
                    ", pluginConfig: [{name: OtherSort, args: {a: 1}}]}\n"),
            (Texts{"s.yaml:5:101: profiles[1].pluginConfig: the arguments of OtherSort differ from those in "
                   "profiles[0]; all profiles share one queue, use the same arguments"}));
  EXPECT_TRUE(reasons("profiles: [{plugins: {queueSort: {enabled: [{name: OtherSort}]}}}]\n")[0].find(
                  "\"OtherSort\" and \"PrioritySort\"") == std::string::npos)
      << "multiPoint's PrioritySort comes first";
}

TEST(SchedulerConfig, NamesTheFileThatCannotBeRead) {
  EXPECT_EQ(read_scheduler_config("/nowhere/s.yaml", in_tree_registry()).error().message(),
            "/nowhere/s.yaml: cannot read file: No such file or directory");
}

}  // namespace
}  // namespace berth
