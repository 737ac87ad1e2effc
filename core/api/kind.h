// Kind: the kinds of Kubernetes objects that Berth supports, and their names.
#pragma once

#include <string_view>
#include <vector>

namespace berth {

// Kinds, with their Kubernetes name, the plural used in topics and keys, and whether they are namespaced.
enum class Kind {
  pod,
  node,
  persistent_volume,
  persistent_volume_claim,
  storage_class,
  priority_class,
  namespace_,
  service,
  pod_disruption_budget,
  csi_node,
  csi_driver,
  csi_storage_capacity,
  config_map,
  secret,
  replication_controller,
  replica_set,
  deployment,
  stateful_set,
  daemon_set,
  job,
  cron_job,
  controller_revision,
};
struct KindName {
  Kind kind;
  std::string_view name;         // "PersistentVolumeClaim"
  std::string_view plural;       // "persistentvolumeclaims"
  std::string_view short_name;   // "pvc"; empty: none
  std::string_view api_version;  // "v1", "storage.k8s.io/v1"
  bool namespaced;
};
const std::vector<KindName>& kinds();
const KindName& describe(Kind kind);
// By name, plural, lower-case singular or short name ("po", "pvc"); null if unknown.
const KindName* find_kind(std::string_view text);

}  // namespace berth
