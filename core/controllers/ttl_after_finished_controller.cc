#include "core/controllers/ttl_after_finished_controller.h"

#include "core/api/job.h"

namespace berth {
namespace {

// None if the Job is to stay, has not finished, or is being deleted.
std::optional<Millis> expiry_of(const Job& job) {
  const Condition* finished = finished_condition(job);
  if (!job.spec.ttl_seconds_after_finished || finished == nullptr || job.metadata.deletion) return std::nullopt;
  return finished->last_transition.value_or(0) + Millis{*job.spec.ttl_seconds_after_finished} * 1000;
}

}  // namespace

void TtlAfterFinishedController::observe(const ObjectChange& change, const ClusterAccess& /*cluster*/,
                                         WorkQueue& queue) {
  if (change.after == nullptr || change.after->kind != Job::kKind) return;
  if (expiry_of(static_cast<const Job&>(*change.after))) queue.add(key_of(*change.after));
}

SyncResult TtlAfterFinishedController::sync(const ObjectKey& key, ClusterAccess& cluster) {
  const auto job = find_as<Job>(cluster, Job::kKind, key);
  const std::optional<Millis> expiry = job == nullptr ? std::nullopt : expiry_of(*job);
  if (!expiry) return {};
  if (*expiry > cluster.now()) return {.wake_at = expiry};
  DeleteOptions options;
  options.propagation = Propagation::foreground;
  options.uid = job->metadata.uid;
  const WriteResult result = cluster.remove(*job, options);
  if (result.is_done() || result.code == WriteResult::Code::not_found) return {};
  return {.status = Status::error(result.message)};
}

}  // namespace berth
