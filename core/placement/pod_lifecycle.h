// PodLifecycle: drives the rows: each pod from its decision to the device's proof, and back when it is refused
// (core/handshake/rules.md, P1 to P7). pod_lifecycle.cc is the page to read; what a row asks of its device is in
// pod_requests.cc, what a pod waits for before it has a row in pod_waiting.cc; recovery.cc enters the page at a
// restart.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/api/pod.h"
#include "core/placement/config_delivery.h"
#include "core/placement/context.h"
#include "core/placement/events.h"
#include "core/placement/listings.h"
#include "core/placement/object_changes.h"
#include "core/placement/provisioned_volumes.h"
#include "core/placement/release_list.h"
#include "core/placement/send_window.h"
#include "core/placement/state.h"
#include "core/placement/volume_binder.h"
#include "core/scheduler/scheduler.h"

namespace berth {

class PodLifecycle {
 public:
  // The lower parts of the room. All outlive it.
  struct Parts {
    PlacementState& state;
    Scheduler& scheduler;
    RequestSender& sender;
    Listings& listings;
    VolumeBinder& volumes;
    ProvisionedVolumes& provisioned;
    ReleaseList& releases;
    ObjectChanges& changes;
    PlacementEvents& events;
  };
  PodLifecycle(const PlacementContext& context, const Parts& parts);
  ~PodLifecycle();
  PodLifecycle(const PodLifecycle&) = delete;
  PodLifecycle& operator=(const PodLifecycle&) = delete;

  // A node was decided on: begins the pod's binding. What happens next happens by itself.
  void start(std::unique_ptr<BindingCycle> cycle);
  // A row that was stored, or found on a node, enters at its phase. See Recovery.
  void resume(Binding restored);

  // Something happened to the row. Nothing follows when the row has no move for it. May end and drop the binding.
  void feed(std::string_view uid, RowEvent event);
  // Likewise; `reason`, for people, is kept with the binding.
  void feed(std::string_view uid, RowEvent event, const std::string& reason);
  // A pod without a row goes on, or with an error fails: Permit, a provisioner or its node's turn has decided.
  void feed_permit(std::string_view uid, Status status);
  // A pod without a row is given up, whether it waits on Permit or for something else; one on Permit is rejected with
  // `permit_reason` there.
  void give_up_waiting(std::string_view uid, const std::string& permit_reason, const std::string& reason);
  // An answer of a device, about this pod. False: it changes nothing.
  bool take_answer(const Answer& answer);
  // The pod's status may say that it has finished.
  void take_finished(const Binding& binding);

  // A new version of the pod.
  void set_pod(std::string_view uid, const PodPtr& pod);
  // Asks the node about a row, whatever its phase: for a bound one Bind is resent.
  void verify(Binding& binding);
  // Resends what the node's rows wait for, from the first delay on.
  void resend(const std::string& node);
  // Another node's slot disproves the row, whose record is already that of the row to come. To the release list.
  void drop(Binding& binding);
  // The rows bind the claim no more. False: the store has no capacity to say so; later then.
  bool forget_claim(const std::string& claim);

  // What Permit plugins, operators or time have decided goes on at once.
  void deliver_permits();
  // Claims or volumes may have changed: PreBind runs again for the pods that wait for them.
  void retry_provisioned();
  // Nodes may have answered: the pods that waited for that have their turn.
  void begin_deferred();
  // No pod is to be decided now: enough devices have something to answer.
  bool is_window_full() const { return window_.is_full(context_.nodes); }
  ConfigDelivery& configs() { return configs_; }

 private:
  Task binding_cycle(Binding& binding);
  Status pre_bind(Binding& binding);
  Status begin_row(Binding& binding, PlacementRequest request, const std::string& incarnation);
  Status bind(Binding& binding);
  void post_bind(Binding& binding);
  void move(Binding& binding, RowEvent event);
  void enter_bind(Binding& binding);
  void enter_bound(Binding& binding);
  void enter_release(Binding& binding, RowEvent event);
  void forget_wrong_report(const Row& row);
  void end_row(Binding& binding, const Move& made);
  void give_up(Binding& binding, const Status& status, bool waited);
  void reap(std::string_view uid);

  void request(Binding& binding);
  void ask(Binding& binding, Request request);
  void arm_deadline(Binding& binding);
  Status defer(Binding& binding);
  Status await_provisioners(Binding& binding, Millis again_at);

  const PlacementContext& context_;
  PlacementState& state_;
  Scheduler& scheduler_;
  RequestSender& sender_;
  Listings& listings_;
  VolumeBinder& volumes_;
  ProvisionedVolumes& provisioned_;
  ReleaseList& releases_;
  ObjectChanges& changes_;
  PlacementEvents& events_;
  SendWindow window_;
  ConfigDelivery configs_;
  Timers::Id permit_timer_ = 0;
};

// Which claims a pod waits for, for people.
std::string provisioning_of(const Binding& binding);

}  // namespace berth
