#include "core/controllers/job/job_pods.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/controllers/job/job_policies.h"
#include "core/controllers/pod_control.h"
#include "core/json/members.h"
#include "core/stable_sort.h"

namespace berth {
namespace {

std::optional<std::int32_t> number_in(const ControlledPod& pod, std::string_view annotation) {
  const Labels& annotations = pod.metadata.annotations.get();
  const auto found = annotations.find(std::string(annotation));
  if (found == annotations.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Whether the time of a comes later; no time comes before any.
bool is_later(const OptionalTime& a, const OptionalTime& b) { return !a || (b && *a > *b); }

bool is_less_useful(const ControlledPodPtr& first, const ControlledPodPtr& second) {
  const ControlledPod& a = *first;
  const ControlledPod& b = *second;
  if (a.node_name.empty() != b.node_name.empty()) return a.node_name.empty();
  if (deletion_rank(a.phase) != deletion_rank(b.phase)) return deletion_rank(a.phase) < deletion_rank(b.phase);
  if (a.ready != b.ready) return !a.ready;
  if (a.ready && a.ready_since != b.ready_since) return is_later(a.ready_since, b.ready_since);
  if (a.restarts != b.restarts) return a.restarts > b.restarts;
  if (a.sidecar_restarts != b.sidecar_restarts) return a.sidecar_restarts > b.sidecar_restarts;
  if (a.metadata.created != b.metadata.created) return is_later(a.metadata.created, b.metadata.created);
  return false;
}

void add_index_variable(Json& spec, std::string_view containers) {
  constexpr std::string_view kName = "JOB_COMPLETION_INDEX";
  Json* list = spec.find(containers);
  if (list == nullptr || !list->is_array()) return;
  for (Json& container : list->as_array()) {
    const Json::Array& variables = list_of(container, "env");
    if (std::any_of(variables.begin(), variables.end(),
                    [&](const Json& each) { return each.string_at("name") == kName; })) {
      continue;
    }
    Json field = Json::object().set("fieldPath", "metadata.labels['" + std::string(kCompletionIndex) + "']");
    Json from = Json::object().set("fieldRef", std::move(field));
    if (container.find("env") == nullptr) container.set("env", Json::array());
    container.find("env")->push_back(Json::object().set("name", kName).set("valueFrom", std::move(from)));
  }
}

void set_in(Json& metadata, std::string_view map, std::string_view key, const std::string& value) {
  if (metadata.find(map) == nullptr) metadata.set(map, Json::object());
  metadata.find(map)->set(key, value);
}

// The failures of its index, with that of the pod that it replaces.
void inherit_failures(Json& metadata, const JobSpec& spec, const ControlledPod* replaced) {
  std::int32_t failures = 0;
  std::int32_t ignored = 0;
  if (replaced != nullptr) {
    const bool counts = match_failure_policy(spec, *replaced).counts();
    failures = failures_before(*replaced, kIndexFailures) + (counts ? 1 : 0);
    ignored = failures_before(*replaced, kIndexIgnoredFailures) + (counts ? 0 : 1);
  }
  set_in(metadata, "annotations", kIndexFailures, std::to_string(failures));
  if (ignored > 0) set_in(metadata, "annotations", kIndexIgnoredFailures, std::to_string(ignored));
}

void set_index(Json& pod, const Job& job, std::int32_t index, const ControlledPod* replaced) {
  constexpr std::size_t kLongestPrefix = 58;  // the name of a pod has 63 characters, five of which are random
  const std::string text = std::to_string(index);
  Json& metadata = *pod.find("metadata");
  const std::string end = "-" + text + "-";
  std::string prefix = job.metadata.name + end;
  if (prefix.size() > kLongestPrefix) prefix = prefix.substr(0, kLongestPrefix - end.size()) + end;
  metadata.set("generateName", prefix);
  set_in(metadata, "annotations", kCompletionIndex, text);
  set_in(metadata, "labels", kCompletionIndex, text);
  if (job.spec.backoff_limit_per_index) inherit_failures(metadata, job.spec, replaced);
  Json& spec = *pod.find("spec");
  add_index_variable(spec, "initContainers");
  add_index_variable(spec, "containers");
  spec.set("hostname", job.metadata.name + "-" + text);
}

}  // namespace

bool lists(const std::vector<std::string>& uids, std::string_view uid) {
  return std::find(uids.begin(), uids.end(), uid) != uids.end();
}

bool is_tracked(const ControlledPod& pod) {
  const std::vector<std::string>& finalizers = pod.metadata.finalizers.get();
  return std::find(finalizers.begin(), finalizers.end(), kTrackingFinalizer) != finalizers.end();
}

Status remove_tracking(ClusterAccess& cluster, const ControlledPod& pod) {
  std::vector<std::string> left = pod.metadata.finalizers.get();
  std::erase(left, kTrackingFinalizer);
  Json metadata = Json::object();
  metadata.set("finalizers", left.empty() ? Json() : to_json(left));
  const WriteResult result = cluster.patch(pod, Json::object().set("metadata", std::move(metadata)));
  const bool done = result.is_done() || result.code == WriteResult::Code::not_found;
  return done ? Status::ok() : Status::error(result.message);
}

std::optional<std::int32_t> completion_index(const ControlledPod& pod) { return number_in(pod, kCompletionIndex); }

std::optional<std::int32_t> valid_index(const ControlledPod& pod, const JobSpec& spec) {
  const std::optional<std::int32_t> index = completion_index(pod);
  return index && *index < spec.completions.value_or(0) ? index : std::nullopt;
}

std::set<std::int32_t> indexes_of(const std::vector<ControlledPodPtr>& pods) {
  std::set<std::int32_t> indexes;
  for (const ControlledPodPtr& pod : pods) {
    if (const std::optional<std::int32_t> index = completion_index(*pod)) indexes.insert(*index);
  }
  return indexes;
}

std::int32_t failures_before(const ControlledPod& pod, std::string_view annotation) {
  return number_in(pod, annotation).value_or(0);
}

std::int32_t all_failures_before(const ControlledPod& pod) {
  return failures_before(pod, kIndexFailures) + failures_before(pod, kIndexIgnoredFailures);
}

bool counts_as_failed(const ControlledPod& pod, const JobSpec& spec) {
  if (pod.phase == PodPhase::failed) return true;
  return !spec.replace_failed_only && pod.metadata.deletion && pod.phase != PodPhase::succeeded;
}

Millis end_of(const ControlledPod& pod) {
  if (pod.ended_at) return *pod.ended_at;
  if (!pod.ready && pod.ready_since) return *pod.ready_since;
  return pod.deletion_asked.value_or(pod.metadata.created.value_or(0));
}

std::vector<ControlledPodPtr> pods_to_remove(const JobSpec& spec, std::vector<ControlledPodPtr> active,
                                             std::int64_t count) {
  std::vector<ControlledPodPtr> removed;
  std::vector<ControlledPodPtr> left;
  if (spec.indexed) {
    // Those without an index count as -1, and come first.
    const auto index = [](const ControlledPodPtr& pod) { return completion_index(*pod).value_or(-1); };
    stable_sort(active, [&](const auto& a, const auto& b) { return index(a) < index(b); });
    for (auto begin = active.begin(); begin != active.end();) {
      const auto end = std::find_if(begin, active.end(), [&](const auto& pod) { return index(pod) != index(*begin); });
      std::vector<ControlledPodPtr> same(begin, end);
      if (valid_index(**begin, spec)) {
        stable_sort(same, is_less_useful);
        left.push_back(same.back());
        same.pop_back();
      }
      removed.insert(removed.end(), same.begin(), same.end());
      begin = end;
    }
  } else {
    left = std::move(active);
  }
  stable_sort(left, is_less_useful);
  for (const ControlledPodPtr& pod : left) {
    if (static_cast<std::int64_t>(removed.size()) >= count) break;
    removed.push_back(pod);
  }
  return removed;
}

Json make_job_pod(const Job& job, std::optional<std::int32_t> index, const ControlledPod* replaced) {
  Json pod = pod_from_template(job.spec.pod_template, job, Job::kApiVersion);
  Json& metadata = *pod.find("metadata");
  Json finalizers = metadata.find("finalizers") != nullptr ? *metadata.find("finalizers") : Json::array();
  const Json tracking{kTrackingFinalizer};
  const Json::Array& present = finalizers.as_array();
  if (std::find(present.begin(), present.end(), tracking) == present.end()) finalizers.push_back(tracking);
  metadata.set("finalizers", std::move(finalizers));
  if (index) set_index(pod, job, *index, replaced);
  return pod;
}

}  // namespace berth
