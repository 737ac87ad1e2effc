#include "core/api/workload_defaults.h"

namespace berth {
namespace {

constexpr IntOrPercent kQuarter{.value = 25, .percent = true};

}  // namespace

// SetDefaults_ReplicationController: its selector is what its template is labelled with.
void set_workload_defaults(ReplicaSet& set) {
  if (set.kind != kReplicationController || !set.spec.selector.requirements.empty()) return;
  for (const auto& [key, value] : set.spec.pod_template.labels.get()) {
    set.spec.selector.requirements.push_back({key, Requirement::Operator::in, {value}});
  }
}

// SetDefaults_Deployment.
void set_workload_defaults(Deployment& deployment) {
  DeploymentSpec& spec = deployment.spec;
  if (!spec.recreate && !spec.max_surge) spec.max_surge = kQuarter;
  if (!spec.recreate && !spec.max_unavailable) spec.max_unavailable = kQuarter;
  if (!spec.revision_history_limit) spec.revision_history_limit = 10;
  if (!spec.progress_deadline_seconds) spec.progress_deadline_seconds = 600;
}

}  // namespace berth
