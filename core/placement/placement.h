// Placement: the room's facade. Events go in: orders that were accepted, what devices report, the clock. Requests to
// devices go out, and what is freed goes to the scheduling queue. It owns the parts and connects them.
//
//   PodRegistry ── objects of pods, the scheduler's host        NodeRegistry ── nodes, local volumes
//        │                                                           │
//   PodLifecycle ── rows: permit ▶ pre_bind ▶ bind ▶ post_bind   Comparison ── List/Slots, adopt mode; Retirement
//        │                │                                          │
//   VolumeBinder     ReleaseList ── entries, orphans             Listings ── pages
//        └── ObjectChanges: wakes the queue    RequestSender ── LiveEpochs
#pragma once

#include <deque>
#include <string>

#include "core/api/pod.h"
#include "core/placement/comparison.h"
#include "core/placement/ephemeral_claims.h"
#include "core/placement/immediate_claims.h"
#include "core/placement/kept_output.h"
#include "core/placement/orphan_volumes.h"
#include "core/placement/provisioned_volumes.h"
#include "core/placement/refusal_watch.h"
#include "core/placement/retirement.h"
#include "core/placement/status_sweep.h"
#include "core/placement/takeover.h"
#include "core/placement/twins.h"

namespace berth {

class Placement final : private PlacementEvents {
 public:
  // All outlive it.
  explicit Placement(const PlacementContext& context);

  Scheduler& scheduler() { return scheduler_; }
  const Scheduler& scheduler() const { return scheduler_; }
  const PlacementState& state() const { return state_; }
  PodRegistry& pods() { return pods_; }
  NodeRegistry& nodes() { return nodes_; }
  const NodeRegistry& nodes() const { return nodes_; }
  ObjectAdmission& objects() { return admission_; }
  ObjectChanges& changes() { return changes_; }
  VolumeBinder& volumes() { return volumes_; }
  ReleaseList& releases() { return releases_; }
  const ReleaseList& releases() const { return releases_; }
  OrphanVolumes& orphan_volumes() const { return *orphan_volumes_; }
  const PodAdmission& pod_admission() const { return pod_admission_; }
  PodLifecycle& lifecycle() { return lifecycle_; }
  AdoptMode& adopt_mode() { return adopt_mode_; }
  Comparison& comparison() { return comparison_; }
  Retirement& retirement() { return retirement_; }
  StatusSweep& statuses() { return statuses_; }
  Takeover& takeover() { return takeover_; }
  Twins& twins() { return twins_; }
  RefusalWatch& refusals() { return refusals_; }

  // One record of a table other than objects, nodes and the identity. Status::error: it cannot be read.
  Status load(const RecordView& record);
  // All is loaded: see Recovery.
  void recover() { recovery_.recover(); }
  void take_answer(Answer answer);
  // A message from the node's own topic: NodeRegistry::take_report(). `is_live`: not what the broker had retained.
  Status take_report(const std::string& node, std::string_view what, const Json& payload, bool is_live);
  // The link to the broker changed: open listings are over, and the broker tells again what it retains.
  void reset_session() {
    listings_.clear();
    twins_.reset_session();
    statuses_.reset();
    nodes_to_ask_.clear();
  }
  // The retained state of the session has arrived.
  void on_synced();
  // Asks the nodes that on_synced() has left, until `end_us` on the clock.
  void ask_nodes(std::int64_t end_us);
  bool has_nodes_to_ask() const { return !nodes_to_ask_.empty(); }
  // Decides for as many pods as a turn has time for. True: there are more.
  bool schedule_pending();

 private:
  void pod_gone(const std::string& key) override { pods_.finish_removal(key); }
  void pod_unplaced(const PodPtr& pod) override { pods_.enqueue(pod); }
  void uid_freed(std::string_view uid) override { pods_.enqueue_if_free(uid); }
  void name_freed(const std::string& pod) override;
  void local_volumes_freed(const std::string& node) override;
  void prebind_told(const Row& row, PreBindOutcome outcome) override { nodes_.note_prebind(row, outcome); }
  void pod_refused(const Pod& pod, const std::string& node, const std::string& incarnation,
                   const Refusal& refusal) override {
    refusals_.note_rejected(pod, node, incarnation, refusal);
  }
  void prebind_disproved(std::string_view uid, const std::string& reason) override;
  bool claim_gone(const std::string& claim) override;

  const PlacementContext& context_;
  std::deque<std::string> nodes_to_ask_;  // since on_synced()
  Scheduler scheduler_;
  PlacementState state_;
  RequestSender sender_;
  KeptOutput output_;
  Listings listings_;
  ObjectChanges changes_;
  RefusalWatch refusals_;
  ProvisionedVolumes provisioned_;
  std::unique_ptr<OrphanVolumes> orphan_volumes_;
  VolumeBinder volumes_;
  ImmediateClaims immediate_claims_;
  ReleaseList releases_;
  PodLifecycle lifecycle_;
  ObjectAdmission admission_;
  EphemeralClaims ephemeral_claims_;
  NodeRegistry nodes_;
  Twins twins_;
  PodRegistry pods_;
  Recovery recovery_;
  PodAdmission pod_admission_;
  Adoption adoption_;
  AdoptMode adopt_mode_;
  Comparison comparison_;
  Takeover takeover_;
  Retirement retirement_;
  StatusSweep statuses_;
};

}  // namespace berth
