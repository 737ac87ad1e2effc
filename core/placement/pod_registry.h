// PodRegistry: the pods as objects: created, updated, deleted, queued; and what the scheduler asks and reports of them.
#pragma once

#include <string>
#include <string_view>

#include "core/api/pod.h"
#include "core/placement/context.h"
#include "core/placement/ephemeral_claims.h"
#include "core/placement/kept_output.h"
#include "core/placement/object_changes.h"
#include "core/placement/pod_lifecycle.h"
#include "core/placement/release_list.h"
#include "core/placement/volume_binder.h"

namespace berth {

class PodRegistry final : public SchedulerHost {
 public:
  struct Parts {
    PlacementState& state;
    Scheduler& scheduler;
    VolumeBinder& volumes;
    EphemeralClaims& ephemeral_claims;
    ReleaseList& releases;
    ObjectChanges& changes;
    PodLifecycle& lifecycle;
    KeptOutput& output;
  };
  // All outlive it; the scheduler, which calls it, may be made after it.
  PodRegistry(const PlacementContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  // An accepted manifest: a new pod; a new version of a known one, true when it differs.
  void create(const PodPtr& pod);
  bool update(PodEntry& entry, const CountedPtr<Pod>& next);
  // The delete of the pod was accepted, or it is preempted (P7).
  void remove(PodEntry& entry);
  // Its row is gone, or there never was one: the object goes, and the pod that waits for its name is created.
  void finish_removal(const std::string& key);
  // What held the pod back may be gone: one that is being deleted and has no row goes.
  void finish_held_removal(const std::string& key);
  // Adopt mode has ended, or the gateway starts: deletes that waited for it are carried out, of pods without a row.
  void finish_removals(bool of_finished_pods);
  // Into the queue; a pod whose profile this gateway no longer has waits outside, for a start that has it.
  // `kept`: from an earlier run; null: it is new.
  void enqueue(const PodPtr& pod, const QueuePosition* kept = nullptr);
  void enqueue_if_free(std::string_view uid);
  // After a restart: the pods that no row places.
  void restore_queue();
  // A status that a device reports of a pod. S12: only the node that the row names is believed, and only for the row's
  // epoch. `bytes`: of the report. An error names the field.
  Status take_status(const std::string& node, const std::string& key, const Json& report, std::size_t bytes);
  // While set, records are kept back that safety does not need.
  void save_writes(bool saving);
  void save_deferred();

  PodPtr find_unplaced(const Pod& pod) const override;
  bool may_try(const Pod& pod) override;
  void record_event(const Pod& pod, const SchedulingEvent& event) override;
  std::optional<PodCondition> condition_of(const Pod& pod) const override;
  void patch_status(const Pod& pod, const StatusPatch& patch) override;
  Status evict(const Pod& victim, const Pod& preemptor) override;
  void node_chosen(const QueuedPod& queued) override;
  void attempt_ended(const QueuedPod& queued, std::string_view result) override;

 private:
  void show_leaving(PodEntry& entry);
  void tell_scheduler(const PodEntry& entry, const PodPtr& before);
  void replace(PodEntry& entry, const PodPtr& changed);
  void note_start(PodEntry& entry, const Json& observed);
  void note_faults(PodEntry& entry, const std::string& node, const std::string& first);
  // `report`: all of it; `observed`: what is kept.
  void tell_news(const PodEntry& entry, const Row& row, const Json& observed, const Json& report);
  void create_successor(const Pod& gone, const Json& successor, bool order_retained);

  const PlacementContext& context_;
  Parts parts_;
  bool saving_writes_ = false;
};

}  // namespace berth
