#include "core/api/validation.h"

#include "core/api/config_objects.h"
#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "core/api/workload.h"

namespace berth {

namespace {

template <class T>
Status check_with(Result<T> (*decode)(const Json&, Warnings*, Rules), const Json& object, Warnings* warnings,
                  Rules rules) {
  const Result<T> decoded = decode(object, warnings, rules);
  return decoded ? Status::ok() : decoded.error();
}

}  // namespace

Status check_object(Kind kind, const Json& object, Warnings* warnings, Rules rules) {
  switch (kind) {
    case Kind::pod: return check_with(decode_pod, object, warnings, rules);
    case Kind::node: return check_with(decode_node, object, warnings, rules);
    case Kind::persistent_volume: return check_with(decode_persistent_volume, object, warnings, rules);
    case Kind::persistent_volume_claim: return check_with(decode_persistent_volume_claim, object, warnings, rules);
    case Kind::storage_class: return check_with(decode_storage_class, object, warnings, rules);
    case Kind::priority_class: return check_with(decode_priority_class, object, warnings, rules);
    case Kind::namespace_: return check_with(decode_namespace, object, warnings, rules);
    case Kind::service: return check_with(decode_service, object, warnings, rules);
    case Kind::pod_disruption_budget: return check_with(decode_pod_disruption_budget, object, warnings, rules);
    case Kind::csi_node: return check_with(decode_csi_node, object, warnings, rules);
    case Kind::csi_driver: return check_with(decode_csi_driver, object, warnings, rules);
    case Kind::csi_storage_capacity: return check_with(decode_csi_storage_capacity, object, warnings, rules);
    case Kind::config_map: return check_with(decode_config_map, object, warnings, rules);
    case Kind::secret: return check_with(decode_secret, object, warnings, rules);
    case Kind::replication_controller:
    case Kind::replica_set:
    case Kind::deployment:
    case Kind::stateful_set:
    case Kind::daemon_set:
    case Kind::job:
    case Kind::cron_job:
    case Kind::controller_revision: return check_workload(kind, object, warnings, rules);
  }
  return Status::error("kind: unknown");
}

std::string unknown_fields(Kind kind, const Json& object) {
  Warnings warnings;
  static_cast<void>(check_object(kind, object, &warnings, Rules::off));
  std::string text;
  for (const std::string& warning : warnings) {
    if (is_about_unknown_field(warning)) text += (text.empty() ? "" : ", ") + warning;
  }
  return text;
}

}  // namespace berth
