#include "core/controllers/daemon_set/daemon_pods.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "core/controllers/pod_control.h"
#include "core/controllers/revisions.h"
#include "core/json/canonical.h"
#include "core/json/members.h"

namespace berth {
namespace {

constexpr std::string_view kGenerationAnnotation = "deprecated.daemonset.template.generation";
constexpr std::string_view kGenerationLabel = "pod-template-generation";

// As the label of its pods has it; none: the annotation is absent or no number.
std::optional<std::string> template_generation(const DaemonSet& set) {
  const Labels& annotations = set.metadata.annotations.get();
  const auto found = annotations.find(std::string(kGenerationAnnotation));
  if (found == annotations.end()) return std::nullopt;
  const std::string& text = found->second;
  const std::size_t sign = text.starts_with('+') && !text.starts_with("+-") ? 1 : 0;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + sign, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::to_string(number);
}

Json to_manifest(const Toleration& toleration) {
  Json json = Json::object();
  json.set("key", toleration.key).set("operator", "Exists").set("effect", to_string(*toleration.effect));
  return json;
}

// An equal one is replaced, whatever its tolerationSeconds.
Json with_daemon_tolerations(const Json::Array& own, const DaemonSet& set) {
  Json::Array all = own;
  for (const Toleration& each : daemon_tolerations(set)) {
    const Json added = to_manifest(each);
    bool is_there = false;
    for (Json& toleration : all) {
      Json without_seconds = toleration;
      without_seconds.erase("tolerationSeconds");
      if (!is_same(without_seconds, added)) continue;
      toleration = added;
      is_there = true;
    }
    if (!is_there) all.push_back(added);
  }
  return all;
}

// The required terms give way to one that names the node.
Json affinity_to(const Json& own, const std::string& node_name) {
  Json requirement = Json::object();
  requirement.set("key", "metadata.name").set("operator", "In").set("values", Json::Array{node_name});
  Json term = Json::object().set("matchFields", Json::Array{std::move(requirement)});
  Json selector = Json::object().set("nodeSelectorTerms", Json::Array{std::move(term)});
  Json nodes = member(own, "nodeAffinity");
  nodes.set("requiredDuringSchedulingIgnoredDuringExecution", std::move(selector));
  Json affinity = own;
  affinity.set("nodeAffinity", std::move(nodes));
  return affinity;
}

// Whether a pod made for the node now is of the set's template.
bool gets_newest(const DaemonView& view, const std::string& node_name) {
  return may_update(view, node_name) && (!view.rollout || view.rollout->newest == view.hash);
}

auto age_of(const ControlledPodPtr& pod) {
  return std::tuple(pod->node_name.empty(), pod->metadata.created.value_or(0), std::string_view(pod->metadata.name));
}

}  // namespace

std::string_view target_node(const ControlledPod& pod) {
  return pod.node_name.empty() ? pod.only_node.get() : pod.node_name.get();
}

std::map<std::string, std::vector<ControlledPodPtr>> group_by_node(const std::vector<ControlledPodPtr>& pods) {
  std::map<std::string, std::vector<ControlledPodPtr>> groups;
  for (const ControlledPodPtr& pod : pods) {
    const std::string_view node = target_node(*pod);
    if (node.empty() || (is_finished(*pod) && pod->metadata.deletion)) continue;
    groups[std::string(node)].push_back(pod);
  }
  return groups;
}

bool has_revision_for(const DaemonView& view, const std::string& node_name) {
  return gets_newest(view, node_name) || view.rollout->stable != nullptr;
}

Json daemon_pod(const DaemonView& view, const std::string& node_name) {
  const DaemonSet& set = view.set;
  const bool is_newest = gets_newest(view, node_name);
  const PodTemplate pod_template = is_newest ? set.spec.pod_template : revision_template(*view.rollout->stable);
  Json pod = pod_from_template(pod_template, set, DaemonSet::kApiVersion);
  Json& metadata = *pod.find("metadata");
  Json labels = member(metadata, "labels");
  const auto generation = template_generation(set);
  if (generation && is_newest) labels.set(kGenerationLabel, *generation);
  labels.set(kRevisionLabel, is_newest ? view.hash : revision_label(*view.rollout->stable));
  metadata.set("labels", std::move(labels));
  Json spec = member(pod, "spec");
  spec.set("tolerations", with_daemon_tolerations(list_of(spec, "tolerations"), set));
  spec.set("affinity", affinity_to(member(spec, "affinity"), node_name));
  pod.set("spec", std::move(spec));
  return pod;
}

bool is_updated(const DaemonView& view, const ControlledPod& pod) {
  if (revision_label(pod) == view.hash) return true;
  if (view.rollout) return false;  // after a rollback the generation is that of the revision that has failed
  const std::optional<std::string> generation = template_generation(view.set);
  const Labels& labels = pod.metadata.labels.get();
  const auto found = labels.find(std::string(kGenerationLabel));
  return generation && found != labels.end() && found->second == *generation;
}

void sort_by_age(std::vector<ControlledPodPtr>& pods) {
  std::sort(pods.begin(), pods.end(),
            [](const ControlledPodPtr& a, const ControlledPodPtr& b) { return age_of(a) < age_of(b); });
}

bool is_available(const DaemonView& view, const ControlledPod& pod) {
  return is_available(pod, view.set.spec.min_ready_seconds, view.now);
}

bool may_update(const DaemonView& view, const std::string& node_name) {
  return !view.rollout || view.rollout->decision.open.contains(node_name);
}

bool counts_unavailable(const DaemonView& view, const std::string& node_name) {
  return !view.rollout || !view.rollout->decision.no_unavailable.contains(node_name);
}

bool allows_surge(const DaemonSet& set) {
  return !set.spec.on_delete && set.spec.max_surge && set.spec.max_surge->value > 0;
}

}  // namespace berth
