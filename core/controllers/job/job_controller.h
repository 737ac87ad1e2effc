// The controller of Jobs (pkg/controller/job/job_controller.go).
#pragma once

#include <map>
#include <string_view>

#include "core/controllers/controller.h"
#include "core/controllers/job/job_backoff.h"

namespace berth {

class JobController final : public Controller {
 public:
  std::string_view name() const override { return "job"; }
  // Changes of pods, and of a Job's status, are gathered for a second; a change of its spec counts at once.
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  SyncResult sync_job(const ObjectKey& key, ClusterAccess& cluster);

  // Of Jobs that have not finished. Lost at a restart, as upstream: then failed pods are replaced sooner.
  std::map<ObjectKey, JobBackoff> backoffs_;
};

}  // namespace berth
