#include "tests/conformance/typed_objects.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/api/controller_revision.h"
#include "core/api/cron_job.h"
#include "core/api/daemon_set.h"
#include "core/api/decode.h"
#include "core/api/decode_parts.h"
#include "core/api/deployment.h"
#include "core/api/disruption_budget.h"
#include "core/api/job.h"
#include "core/api/replica_set.h"
#include "core/api/stateful_set.h"
#include "core/api/timestamp.h"
#include "core/controllers/controlled_lease.h"
#include "core/controllers/controlled_node.h"
#include "core/controllers/controlled_pod.h"
#include "core/json/field_reader.h"
#include "tests/conformance/daemon_node.h"
#include "tests/conformance/verdict.h"

namespace berth {
namespace {

template <class T>
ObjectPtr checked(std::string_view kind, Result<T> decoded) {
  if (!decoded) {
    std::cerr << "berth_conformance: " << kind << ": " << decoded.error().message() << "\n";
    std::exit(2);
  }
  return std::make_shared<T>(std::move(*decoded));
}

Result<ControlledObject> decode_metadata(std::string_view kind, const Json& object) {
  Findings findings(Rules::off);
  FieldReader reader(object, "", findings);
  static std::set<std::string, std::less<>> kinds;  // for the lifetime that ControlledObject asks for
  ControlledObject out(*kinds.emplace(kind).first);
  decode::read_workload_head(reader, "", out);
  return decode::conclude_workload(std::move(out), findings, nullptr);
}

PodPhase phase_of(const std::string& name) {
  static const std::map<std::string, PodPhase> kPhases{{"Running", PodPhase::running},
                                                       {"Succeeded", PodPhase::succeeded},
                                                       {"Failed", PodPhase::failed},
                                                       {"Unknown", PodPhase::unknown}};
  const auto found = kPhases.find(name);
  return found == kPhases.end() ? PodPhase::pending : found->second;
}

std::int32_t highest_restarts(const Json& statuses, const std::set<std::string>* among) {
  std::int32_t highest = 0;
  for (const Json& each : list(statuses)) {
    if (among != nullptr && !among->contains(text(at(each, "name")))) continue;
    highest = std::max(highest, static_cast<std::int32_t>(number(at(each, "restartCount"))));
  }
  return highest;
}

// The latest start of those that run.
OptionalTime last_start(const Json& status) {
  OptionalTime last;
  for (const std::string_view statuses : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& each : list(at(status, statuses))) {
      const std::optional<Millis> start = parse_timestamp(text(at(at(at(each, "state"), "running"), "startedAt")));
      if (start && (!last || *last < *start)) last = start;
    }
  }
  return last;
}

std::set<std::string> sidecars_of(const Json& object) {
  std::set<std::string> sidecars;
  for (const Json& each : list(at(at(object, "spec"), "initContainers"))) {
    if (text(at(each, "restartPolicy")) == "Always") sidecars.insert(text(at(each, "name")));
  }
  return sidecars;
}

void fill_restarts(const Json& object, ControlledPod& pod) {
  const Json& status = at(object, "status");
  pod.restarts = highest_restarts(at(status, "containerStatuses"), nullptr);
  const std::set<std::string> sidecars = sidecars_of(object);
  pod.sidecar_restarts = highest_restarts(at(status, "initContainerStatuses"), &sidecars);
}

// When all of them have ended: the time of the last. False: one has not.
bool find_end(const Json& statuses, const std::set<std::string>* among, OptionalTime& last) {
  for (const Json& each : list(statuses)) {
    if (among != nullptr && !among->contains(text(at(each, "name")))) continue;
    const std::optional<Millis> end = parse_timestamp(text(at(at(at(each, "state"), "terminated"), "finishedAt")));
    if (!end) return false;
    if (!last || *last < *end) last = end;
  }
  return true;
}

// What Jobs ask for.
void fill_ends(const Json& object, ControlledPod& pod) {
  const Json& status = at(object, "status");
  for (const std::string_view statuses : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& each : list(at(status, statuses))) {
      pod.all_restarts += static_cast<std::int32_t>(number(at(each, "restartCount")));
      const Json& end = at(at(each, "state"), "terminated");
      if (end.is_null()) continue;
      pod.ended.edit().push_back({text(at(each, "name")), static_cast<std::int32_t>(number(at(end, "exitCode")))});
    }
  }
  const std::set<std::string> sidecars = sidecars_of(object);
  OptionalTime last;
  if (find_end(at(status, "containerStatuses"), nullptr, last) &&
      find_end(at(status, "initContainerStatuses"), &sidecars, last)) {
    pod.ended_at = last;
  }
  if (pod.metadata.deletion) {
    pod.deletion_asked =
        *pod.metadata.deletion - number(at(at(object, "metadata"), "deletionGracePeriodSeconds")) * 1000;
  }
}

void fill_claims(const Json& object, ControlledPod& pod) {
  for (const Json& volume : list(at(at(object, "spec"), "volumes"))) {
    const std::string claim = text(at(at(volume, "persistentVolumeClaim"), "claimName"));
    if (!claim.empty()) pod.claims.emplace(text(at(volume, "name")), claim);
  }
}

void read_tolerations(const Json& object, ControlledPod& pod) {
  Findings findings(Rules::off);
  FieldReader reader(object, "", findings);
  reader.read_object("spec", [&](FieldReader& spec) {
    spec.read_each("tolerations",
                   [&](FieldReader& item) { decode::read_toleration(item, pod.tolerations.edit().emplace_back()); });
  });
}

ObjectPtr typed_pod(const Json& object) {
  auto pod = std::make_shared<ControlledPod>();
  Result<ControlledObject> head = decode_metadata("Pod", object);
  if (!head) return checked("Pod", std::move(head));
  pod->metadata = head->metadata;
  pod->node_name = text(at(at(object, "spec"), "nodeName"));
  pod->only_node = daemon_node(object);
  read_tolerations(object, *pod);
  const Json& status = at(object, "status");
  pod->phase = phase_of(text(at(status, "phase")));
  pod->reason = text(at(status, "reason"));
  Findings findings(Rules::off);
  FieldReader reader(status, "status", findings);
  decode::read_conditions(reader, pod->conditions.edit());
  if (const Condition* ready = find_condition(pod->conditions.get(), "Ready")) {
    pod->ready = ready->status == "True";
    pod->ready_since = ready->last_transition;
  }
  pod->last_started = last_start(status);
  fill_restarts(object, *pod);
  fill_ends(object, *pod);
  fill_claims(object, *pod);
  return pod;
}

void read_taints(const Json& object, ControlledNode& node) {
  Findings findings(Rules::off);
  FieldReader reader(object, "", findings);
  reader.read_object("spec", [&](FieldReader& spec) {
    spec.read_each("taints", [&](FieldReader& item) {
      NodeTaint taint;
      decode::read_taint(item, {}, taint);
      decode::read_time(item, "timeAdded", taint.time_added);
      node.taints.push_back(std::move(taint));
    });
  });
}

ObjectPtr typed_node(const Json& object) {
  auto node = std::make_shared<ControlledNode>();
  Result<ControlledObject> head = decode_metadata("Node", object);
  if (!head) return checked("Node", std::move(head));
  node->metadata = head->metadata;
  node->metadata.namespace_ = "";
  read_taints(object, *node);
  Findings findings(Rules::off);
  FieldReader status(at(object, "status"), "status", findings);
  decode::read_conditions(status, node->conditions);
  const Condition* ready = find_condition(node->conditions, "Ready");
  node->ready = ready != nullptr && ready->status == "True";
  if (ready != nullptr && ready->status == "Unknown") node->silent_since = ready->last_transition;
  node->unschedulable = flag(at(at(object, "spec"), "unschedulable"));
  return node;
}

ObjectPtr typed_lease(const Json& object) {
  auto lease = std::make_shared<ControlledLease>();
  Result<ControlledObject> head = decode_metadata("Lease", object);
  if (!head) return checked("Lease", std::move(head));
  lease->metadata = head->metadata;
  lease->renewed = parse_timestamp(text(at(at(object, "spec"), "renewTime")));
  return lease;
}

}  // namespace

ObjectPtr typed_object(std::string_view kind, const Json& object) {
  if (kind == "Pod") return typed_pod(object);
  if (kind == "Node") return typed_node(object);
  if (kind == "Lease") return typed_lease(object);
  if (kind == "ReplicaSet") return checked(kind, decode_replica_set(object, nullptr, Rules::off));
  if (kind == "ReplicationController") {
    return checked(kind, decode_replication_controller(object, nullptr, Rules::off));
  }
  if (kind == "PodDisruptionBudget") return checked(kind, decode_disruption_budget(object, nullptr, Rules::off));
  if (kind == "Deployment") return checked(kind, decode_deployment(object, nullptr, Rules::off));
  if (kind == "Job") return checked(kind, decode_job(object, nullptr, Rules::off));
  if (kind == "CronJob") return checked(kind, decode_cron_job(object, nullptr, Rules::off));
  if (kind == "DaemonSet") return checked(kind, decode_daemon_set(object, nullptr, Rules::off));
  if (kind == "StatefulSet") return checked(kind, decode_stateful_set(object, nullptr, Rules::off));
  if (kind == "ControllerRevision") return checked(kind, decode_controller_revision(object, nullptr, Rules::off));
  return checked(kind, decode_metadata(kind, object));
}

}  // namespace berth
