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

// SetDefaults_StatefulSet.
void set_workload_defaults(StatefulSet& set) {
  if (!set.spec.on_delete && !set.spec.rolling_update) set.spec.rolling_update.emplace();
}

// SetDefaults_DaemonSet.
void set_workload_defaults(DaemonSet& set) {
  if (!set.spec.on_delete && !set.spec.max_unavailable) set.spec.max_unavailable = IntOrPercent{.value = 1};
}

// SetDefaults_CronJob (pkg/apis/batch/v1/defaults.go).
void set_workload_defaults(CronJob& cron_job) {
  CronJobSpec& spec = cron_job.spec;
  if (!spec.successful_jobs_history_limit) spec.successful_jobs_history_limit = 3;
  if (!spec.failed_jobs_history_limit) spec.failed_jobs_history_limit = 1;
}

}  // namespace berth
