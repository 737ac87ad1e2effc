#include "tests/conformance/scripted_plugin.h"

#include <algorithm>

#include "core/api/pod.h"
#include "plugins/defaultbinder.h"
#include "plugins/prioritysort.h"
#include "tests/conformance/verdict.h"

namespace berth {

namespace {

const std::map<std::string, Code, std::less<>>& codes() {
  static const std::map<std::string, Code, std::less<>> kCodes = [] {
    std::map<std::string, Code, std::less<>> all;
    for (const Code code :
         {Code::success, Code::error, Code::unschedulable, Code::unresolvable, Code::wait, Code::skip, Code::pending}) {
      all.emplace(to_string(code), code);
    }
    return all;
  }();
  return kCodes;
}

std::string names_of(const std::vector<std::shared_ptr<const NodeInfo>>& nodes) {
  std::string text;
  for (const auto& node : nodes) text += (text.empty() ? "" : ",") + node->name();
  return text;
}

std::string text_of(const std::vector<NodeScore>& scores) {
  std::string text;
  for (const NodeScore& score : scores) {
    text += (text.empty() ? "" : ",") + score.node + "=" + std::to_string(score.score);
  }
  return text;
}

class ScriptedPlugin final : public PreEnqueuePlugin,
                             public EnqueueExtensions,
                             public PreFilterPlugin,
                             public FilterPlugin,
                             public PostFilterPlugin,
                             public PreScorePlugin,
                             public ScorePlugin,
                             public NormalizeScorePlugin,
                             public ReservePlugin,
                             public PermitPlugin,
                             public PreBindPlugin,
                             public BindPlugin,
                             public PostBindPlugin {
 public:
  using Nodes = std::vector<std::shared_ptr<const NodeInfo>>;
  ScriptedPlugin(std::string name, PluginScript& script, const Handle& handle)
      : name_(std::move(name)), script_(script), handle_(handle) {}

  std::string_view name() const override { return name_; }
  Status pre_enqueue(const Pod& pod) override { return plain("PreEnqueue", pod); }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult& result) override {
    if (const Json& nodes = rule("PreFilter", pod); nodes.find("nodes") != nullptr) {
      result.node_names.emplace();
      for (const std::string& node : strings(at(nodes, "nodes"))) result.node_names->insert(node);
    }
    return plain("PreFilter", pod, &state);
  }
  Status add_pod(CycleState&, const Pod& pod, const Pod& added, const NodeInfo& node) override {
    if (!script_.lists("preFilterExtensions", name_)) return {};
    script_.call(pod.metadata.name, "AddPod", name_, node.name() + " " + added.metadata.name);
    return script_.answer(name_, "AddPod", pod.metadata.name, node.name());
  }
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override {
    return on_node("Filter", state, pod, node.name());
  }
  Status post_filter(const Framework&, CycleState&, const Pod& pod, const NodeStatuses& statuses,
                     PostFilterResult& result) override {
    std::string seen;
    for (const auto& [node, status] : statuses.by_name(handle_.snapshot())) {
      seen += (seen.empty() ? "" : ",") + node + "=" + std::string(to_string(status.code()));
    }
    script_.call(pod.metadata.name, "PostFilter", name_, seen);
    const Json& answer = rule("PostFilter", pod);
    if (const Json* node = answer.find("nominate")) result.nominated_node = text(*node);
    return status_of_rule(answer);
  }
  Status pre_score(CycleState& state, const Pod& pod, const Nodes& feasible) override {
    script_.call(pod.metadata.name, "PreScore", name_, names_of(feasible));
    activate(state, rule("PreScore", pod));
    return script_.answer(name_, "PreScore", pod.metadata.name);
  }
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override {
    score = number(at(rule("Score", pod, node.name()), "score"));
    return on_node("Score", state, pod, node.name());
  }
  Status normalize(CycleState&, const Pod& pod, std::vector<NodeScore>& scores) override;
  Status reserve(CycleState& state, const Pod& pod, const std::string& node) override {
    return on_node("Reserve", state, pod, node);
  }
  void unreserve(CycleState&, const Pod& pod, const std::string& node) override {
    script_.call(pod.metadata.name, "Unreserve", name_, node);
  }
  Status permit(CycleState& state, const Pod& pod, const std::string& node, Millis& timeout) override {
    timeout = number(at(rule("Permit", pod, node), "timeoutMs"));
    return on_node("Permit", state, pod, node);
  }
  Status pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) override {
    return on_node("PreBindPreFlight", state, pod, node);
  }
  Status pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest&) override {
    return on_node("PreBind", state, pod, node);
  }
  Status bind(CycleState& state, const Pod& pod, const std::string& node) override {
    return on_node("Bind", state, pod, node);
  }
  void post_bind(CycleState& state, const Pod& pod, const std::string& node) override {
    static_cast<void>(on_node("PostBind", state, pod, node).is_success());
  }

 private:
  const Json& rule(std::string_view point, const Pod& pod, const std::string& node = {}) const {
    return script_.rule(name_, point, pod.metadata.name, node);
  }
  static void activate(CycleState& state, const Json& rule) {
    for (const std::string& pod : strings(at(rule, "activate"))) state.pods_to_activate().insert("default/" + pod);
  }
  Status plain(std::string_view point, const Pod& pod, CycleState* state = nullptr) {
    script_.call(pod.metadata.name, point, name_);
    if (state != nullptr) activate(*state, rule(point, pod));
    return script_.answer(name_, point, pod.metadata.name);
  }
  Status on_node(std::string_view point, CycleState& state, const Pod& pod, const std::string& node) {
    script_.call(pod.metadata.name, point, name_, node);
    activate(state, rule(point, pod, node));
    return script_.answer(name_, point, pod.metadata.name, node);
  }

  std::string name_;
  PluginScript& script_;
  const Handle& handle_;
};

std::vector<EventWithHint> ScriptedPlugin::events_to_register() const {
  const Json* events = at(script_.profile, "events").find(name_);
  if (events == nullptr) return {{{EventResource::node, kAdd, "NodeAdd"}, nullptr}};
  static const std::map<std::string, EventResource> kResources{
      {"Pod", EventResource::pod},
      {"AssignedPod", EventResource::assigned_pod},
      {"UnschedulablePod", EventResource::unscheduled_pod},
      {"Node", EventResource::node},
      {"*", EventResource::wildcard},
  };
  static const std::map<std::string, std::uint32_t> kActionNames{
      {"Add", kAdd},
      {"Delete", kDelete},
      {"Update", kUpdate},
      {"All", kAllActions},
      {"UpdateNodeAllocatable", kUpdateNodeAllocatable},
      {"UpdateNodeLabel", kUpdateNodeLabel},
      {"UpdateNodeTaint", kUpdateNodeTaint},
      {"UpdateNodeCondition", kUpdateNodeCondition},
      {"UpdateNodeAnnotation", kUpdateNodeAnnotation},
      {"UpdatePodLabel", kUpdatePodLabel},
      {"UpdatePodScaleDown", kUpdatePodScaleDown},
      {"UpdatePodToleration", kUpdatePodToleration},
      {"UpdatePodSchedulingGatesEliminated", kUpdatePodSchedulingGatesEliminated},
  };
  std::vector<EventWithHint> registered;
  for (const Json& event : list(*events)) {
    registered.push_back(
        {{kResources.at(text(at(event, "resource"))), kActionNames.at(text(at(event, "action"))), "Scripted"},
         nullptr});
  }
  return registered;
}

Status ScriptedPlugin::normalize(CycleState&, const Pod& pod, std::vector<NodeScore>& scores) {
  if (!script_.lists("normalize", name_)) return {};
  script_.call(pod.metadata.name, "NormalizeScore", name_, text_of(scores));
  const Json& overwritten = at(rule("NormalizeScore", pod), "scores");
  if (overwritten.is_array()) {
    for (std::size_t i = 0; i < scores.size() && i < list(overwritten).size(); ++i) {
      scores[i].score = number(list(overwritten)[i]);
    }
  }
  for (NodeScore& score : scores) {
    if (const Json* found = overwritten.find(score.node)) score.score = number(*found);
  }
  return script_.answer(name_, "NormalizeScore", pod.metadata.name);
}

}  // namespace

Status status_of_rule(const Json& rule) {
  const std::string code = text(at(rule, "code"));
  if (code.empty() || code == "Success") return {};
  return {codes().at(code), strings(at(rule, "reasons"))};
}

PluginScript::PluginScript(const Json& input) : profile(at(input, "profile")) {
  for (const Json& each : list(at(input, "script"))) {
    ScriptRule rule;
    rule.plugin = text(at(each, "plugin"));
    rule.point = text(at(each, "point"));
    rule.pod = text(at(each, "pod"));
    rule.node = text(at(each, "node"));
    if (each.find("attempt") != nullptr) rule.attempt = static_cast<int>(number(at(each, "attempt")));
    rule.answer = each;
    rules.push_back(std::move(rule));
  }
}

const Json& PluginScript::rule(std::string_view plugin, std::string_view point, const std::string& pod,
                               const std::string& node) const {
  static const Json kNone;
  const auto tried = attempts.find(pod);
  const int attempt = tried == attempts.end() ? 0 : tried->second;
  for (const ScriptRule& rule : rules) {
    if (rule.plugin != plugin || rule.point != point) continue;
    if (!rule.pod.empty() && rule.pod != pod) continue;
    if (!rule.node.empty() && rule.node != node) continue;
    if (rule.attempt >= 0 && rule.attempt != attempt) continue;
    return rule.answer;
  }
  return kNone;
}

Status PluginScript::answer(std::string_view plugin, std::string_view point, const std::string& pod,
                            const std::string& node) const {
  return status_of_rule(rule(plugin, point, pod, node));
}

void PluginScript::call(const std::string& pod, std::string_view point, std::string_view plugin,
                        const std::string& detail) {
  calls.push_back(pod + " " + std::string(point) + " " + std::string(plugin) + (detail.empty() ? "" : " ") + detail);
}

std::vector<std::string> PluginScript::listed(std::string_view point) const {
  std::vector<std::string> names;
  for (const Json& each : list(at(profile, point))) {
    names.push_back(each.is_string() ? each.as_string() : text(at(each, "name")));
  }
  return names;
}

bool PluginScript::lists(std::string_view point, std::string_view plugin) const {
  const std::vector<std::string> names = listed(point);
  return std::find(names.begin(), names.end(), plugin) != names.end();
}

Status register_scripted(Registry& registry, PluginScript& script) {
  std::set<std::string> names;
  for (const Point point : kPoints) {
    for (const std::string& name : script.listed(to_string(point))) names.insert(name);
  }
  names.erase(std::string(DefaultBinder::kName));
  Status added = registry.add(PrioritySort::kName, PrioritySort::make);
  if (added.is_success()) added = registry.add(DefaultBinder::kName, DefaultBinder::make);
  for (const std::string& name : names) {
    if (!added.is_success()) return added;
    added = registry.add(name, [name, &script](const Json&, Handle& handle) {
      return Result<std::unique_ptr<Plugin>>(std::make_unique<ScriptedPlugin>(name, script, handle));
    });
  }
  return added;
}

Profile scripted_profile(const PluginScript& script) {
  Profile profile;
  for (const Point point : kPoints) {
    for (const Json& each : list(at(script.profile, to_string(point)))) {
      const std::string name = each.is_string() ? each.as_string() : text(at(each, "name"));
      profile.points[point].enabled.push_back({name, number(at(each, "weight")), {}});
    }
  }
  profile.points[Point::queue_sort].enabled.push_back({std::string(PrioritySort::kName), 0, {}});
  PluginSet& bind = profile.points[Point::bind];
  if (bind.enabled.empty()) bind.enabled.push_back({std::string(DefaultBinder::kName), 0, {}});
  return profile;
}

}  // namespace berth
