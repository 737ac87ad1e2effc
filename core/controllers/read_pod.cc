#include "core/controllers/read_pod.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "core/api/decode_parts.h"
#include "core/api/timestamp.h"
#include "core/json/field_reader.h"
#include "core/json/members.h"

namespace berth {
namespace {

std::int64_t int_at(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_integer() ? value.as_int() : 0;
}

PodPhase phase_named(const std::string& name) {
  static constexpr std::array kPhases{
      std::pair<std::string_view, PodPhase>{"Running", PodPhase::running},
      std::pair<std::string_view, PodPhase>{"Succeeded", PodPhase::succeeded},
      std::pair<std::string_view, PodPhase>{"Failed", PodPhase::failed},
      std::pair<std::string_view, PodPhase>{"Unknown", PodPhase::unknown},
  };
  for (const auto& [text, phase] : kPhases) {
    if (text == name) return phase;
  }
  return PodPhase::pending;
}

std::int32_t highest_restarts(const Json::Array& statuses, const std::set<std::string>* among) {
  std::int32_t highest = 0;
  for (const Json& each : statuses) {
    if (among != nullptr && !among->contains(each.string_at("name"))) continue;
    highest = std::max(highest, static_cast<std::int32_t>(int_at(each, "restartCount")));
  }
  return highest;
}

// The latest start of those that run.
OptionalTime last_start(const Json& status) {
  OptionalTime last;
  for (const std::string_view statuses : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& each : list_of(status, statuses)) {
      const Json& running = member(member(each, "state"), "running");
      const std::optional<Millis> start = parse_timestamp(running.string_at("startedAt"));
      if (start && (!last || *last < *start)) last = start;
    }
  }
  return last;
}

std::set<std::string> sidecars_of(const Json& spec) {
  std::set<std::string> sidecars;
  for (const Json& each : list_of(spec, "initContainers")) {
    if (each.string_at("restartPolicy") == "Always") sidecars.insert(each.string_at("name"));
  }
  return sidecars;
}

const Json& termination_of(const Json& container) { return member(member(container, "state"), "terminated"); }

// When all of them have ended: the time of the last. False: one has not.
bool find_end(const Json::Array& statuses, const std::set<std::string>* among, OptionalTime& last) {
  for (const Json& each : statuses) {
    if (among != nullptr && !among->contains(each.string_at("name"))) continue;
    const std::optional<Millis> end = parse_timestamp(termination_of(each).string_at("finishedAt"));
    if (!end) return false;
    if (!last || *last < *end) last = end;
  }
  return true;
}

void read_restarts(const Json& spec, const Json& status, ControlledPod& pod) {
  pod.restarts = highest_restarts(list_of(status, "containerStatuses"), nullptr);
  const std::set<std::string> sidecars = sidecars_of(spec);
  pod.sidecar_restarts = highest_restarts(list_of(status, "initContainerStatuses"), &sidecars);
}

// What Jobs ask for.
void read_ends(const Json& spec, const Json& status, ControlledPod& pod) {
  for (const std::string_view statuses : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& each : list_of(status, statuses)) {
      pod.all_restarts += static_cast<std::int32_t>(int_at(each, "restartCount"));
      const Json& end = termination_of(each);
      if (end.is_null()) continue;
      pod.ended.edit().push_back({each.string_at("name"), static_cast<std::int32_t>(int_at(end, "exitCode"))});
    }
  }
  const std::set<std::string> sidecars = sidecars_of(spec);
  OptionalTime last;
  if (find_end(list_of(status, "containerStatuses"), nullptr, last) &&
      find_end(list_of(status, "initContainerStatuses"), &sidecars, last)) {
    pod.ended_at = last;
  }
}

void read_claims(const Json& spec, ControlledPod& pod) {
  for (const Json& volume : list_of(spec, "volumes")) {
    const std::string claim = member(volume, "persistentVolumeClaim").string_at("claimName");
    if (!claim.empty()) pod.claims.emplace(volume.string_at("name"), claim);
  }
}

// The node that the pod's required node affinity names in matchFields.
std::string only_node_of(const Json& spec) {
  const Json& affinity = member(member(spec, "affinity"), "nodeAffinity");
  const Json& required = member(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  for (const Json& term : list_of(required, "nodeSelectorTerms")) {
    for (const Json& field : list_of(term, "matchFields")) {
      const Json::Array& values = list_of(field, "values");
      if (field.string_at("key") == "metadata.name" && values.size() == 1 && values.front().is_string()) {
        return values.front().as_string();
      }
    }
  }
  return {};
}

void read_conditions(const Json& status, ControlledPod& pod) {
  Findings findings(Rules::off);
  FieldReader reader(status, "status", findings);
  decode::read_conditions(reader, pod.conditions.edit());
  const Condition* ready = find_condition(pod.conditions.get(), "Ready");
  if (ready == nullptr) return;
  pod.ready = ready->status == "True";
  pod.ready_since = ready->last_transition;
}

void read_tolerations(FieldReader& spec, ControlledPod& pod) {
  spec.read_each("tolerations",
                 [&](FieldReader& item) { decode::read_toleration(item, pod.tolerations.edit().emplace_back()); });
}

}  // namespace

Result<ControlledPod> read_controlled_pod(const Json& json) {
  Findings findings(Rules::off);
  FieldReader reader(json, "", findings);
  ControlledPod pod;
  decode::read_workload_head(reader, "v1", pod);
  if (findings.has_errors()) return findings.status();
  const Json& spec = member(json, "spec");
  const Json& status = member(json, "status");
  reader.read_object("spec", [&](FieldReader& of_spec) { read_tolerations(of_spec, pod); });
  pod.node_name = spec.string_at("nodeName");
  pod.only_node = only_node_of(spec);
  pod.phase = phase_named(status.string_at("phase"));
  pod.reason = status.string_at("reason");
  read_conditions(status, pod);
  pod.last_started = last_start(status);
  read_restarts(spec, status, pod);
  read_ends(spec, status, pod);
  read_claims(spec, pod);
  if (pod.metadata.deletion) {
    pod.deletion_asked = *pod.metadata.deletion - int_at(member(json, "metadata"), "deletionGracePeriodSeconds") * 1000;
  }
  return pod;
}

}  // namespace berth
