// What a Job sees in one of its pods.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/job.h"
#include "core/clock.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_pod.h"

namespace berth {

// Keeps a pod until the Job has counted it.
inline constexpr std::string_view kTrackingFinalizer = "batch.kubernetes.io/job-tracking";
// The index of an indexed Job's pod: a label and an annotation.
inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";
// How often pods of an index have failed before the one that has this annotation; those that count, and those that
// podFailurePolicy ignores.
inline constexpr std::string_view kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
inline constexpr std::string_view kIndexIgnoredFailures = "batch.kubernetes.io/job-index-ignored-failure-count";

// Whether a list of uids in the status has this one.
bool lists(const std::vector<std::string>& uids, std::string_view uid);
bool is_tracked(const ControlledPod& pod);
// False if it could not be removed; a pod that is gone has none.
Status remove_tracking(ClusterAccess& cluster, const ControlledPod& pod);

// None without a valid one.
std::optional<std::int32_t> completion_index(const ControlledPod& pod);
// The same below spec.completions.
std::optional<std::int32_t> valid_index(const ControlledPod& pod, const JobSpec& spec);
std::set<std::int32_t> indexes_of(const std::vector<ControlledPodPtr>& pods);
// The number in an annotation; 0 if there is none, or it is no number of 32 bits.
std::int32_t failures_before(const ControlledPod& pod, std::string_view annotation);
std::int32_t all_failures_before(const ControlledPod& pod);

// Failed, or lost by a deletion before it could fail, unless such pods are only replaced when they have (isPodFailed).
bool counts_as_failed(const ControlledPod& pod, const JobSpec& spec);
// When it ended: by its containers, else when it stopped being ready, else when its deletion was asked for
// (backoff_utils.go, getFinishedTime).
Millis end_of(const ControlledPod& pod);

// Those that go first, `count` of them at least: of an indexed Job all without a valid index, and all but the best of
// each index (activePodsForRemoval; controller_utils.go, ActivePods).
std::vector<ControlledPodPtr> pods_to_remove(const JobSpec& spec, std::vector<ControlledPodPtr> active,
                                             std::int64_t count);

// The pod of an index, or of a Job without indexes. `replaced`: the failed pod of the index whose failures it inherits;
// null: none.
Json make_job_pod(const Job& job, std::optional<std::int32_t> index, const ControlledPod* replaced);

}  // namespace berth
