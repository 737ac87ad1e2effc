// What the API server sets in workloads that do not say it (pkg/apis/apps/v1/defaults.go,
// pkg/apis/core/v1/defaults.go): in the typed form only, so that the manifest stays the operator's.
#pragma once

#include "core/api/controller_revision.h"
#include "core/api/cron_job.h"
#include "core/api/daemon_set.h"
#include "core/api/deployment.h"
#include "core/api/job.h"
#include "core/api/replica_set.h"
#include "core/api/stateful_set.h"

namespace berth {

void set_workload_defaults(ReplicaSet& set);
void set_workload_defaults(Deployment& deployment);
void set_workload_defaults(StatefulSet& set);
void set_workload_defaults(DaemonSet& set);
void set_workload_defaults(CronJob& cron_job);
// A Job's are in its manifest (set_job_defaults()), and a ControllerRevision has none.
inline void set_workload_defaults(Job&) {}
inline void set_workload_defaults(ControllerRevision&) {}

}  // namespace berth
