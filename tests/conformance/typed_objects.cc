#include "tests/conformance/typed_objects.h"

#include <cstdlib>
#include <iostream>
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
#include "core/controllers/read_pod.h"
#include "core/json/field_reader.h"
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
  if (kind == "Pod") return checked(kind, read_controlled_pod(object));
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
