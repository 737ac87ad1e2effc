#include "core/api/kind.h"

#include <cctype>
#include <string>

#include "core/check.h"

namespace berth {

const std::vector<KindName>& kinds() {
  static const std::vector<KindName> kKinds{
      {Kind::pod, "Pod", "pods", "po", "v1", true},
      {Kind::node, "Node", "nodes", "no", "v1", false},
      {Kind::persistent_volume, "PersistentVolume", "persistentvolumes", "pv", "v1", false},
      {Kind::persistent_volume_claim, "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "v1", true},
      {Kind::storage_class, "StorageClass", "storageclasses", "sc", "storage.k8s.io/v1", false},
      {Kind::priority_class, "PriorityClass", "priorityclasses", "pc", "scheduling.k8s.io/v1", false},
      {Kind::namespace_, "Namespace", "namespaces", "ns", "v1", false},
      {Kind::service, "Service", "services", "svc", "v1", true},
      {Kind::pod_disruption_budget, "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "policy/v1", true},
      {Kind::csi_node, "CSINode", "csinodes", "", "storage.k8s.io/v1", false},
      {Kind::csi_driver, "CSIDriver", "csidrivers", "", "storage.k8s.io/v1", false},
      {Kind::csi_storage_capacity, "CSIStorageCapacity", "csistoragecapacities", "", "storage.k8s.io/v1", true},
      {Kind::config_map, "ConfigMap", "configmaps", "cm", "v1", true},
      {Kind::secret, "Secret", "secrets", "", "v1", true},
      {Kind::replication_controller, "ReplicationController", "replicationcontrollers", "rc", "v1", true},
      {Kind::replica_set, "ReplicaSet", "replicasets", "rs", "apps/v1", true},
      {Kind::deployment, "Deployment", "deployments", "deploy", "apps/v1", true},
      {Kind::stateful_set, "StatefulSet", "statefulsets", "sts", "apps/v1", true},
      {Kind::daemon_set, "DaemonSet", "daemonsets", "ds", "apps/v1", true},
      {Kind::job, "Job", "jobs", "", "batch/v1", true},
      {Kind::cron_job, "CronJob", "cronjobs", "cj", "batch/v1", true},
      {Kind::controller_revision, "ControllerRevision", "controllerrevisions", "", "apps/v1", true},
  };
  return kKinds;
}

const KindName& describe(Kind kind) {
  for (const KindName& name : kinds()) {
    if (name.kind == kind) return name;
  }
  check_failed("a kind without a name", __FILE__, __LINE__);
}

const KindName* find_kind(std::string_view text) {
  const auto lower = [](std::string_view name) {
    std::string result(name);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
  };
  if (text.empty()) return nullptr;  // some kinds have an empty short name
  for (const KindName& name : kinds()) {
    if (text == name.name || text == name.plural || text == name.short_name || text == lower(name.name)) return &name;
  }
  return nullptr;
}

}  // namespace berth
