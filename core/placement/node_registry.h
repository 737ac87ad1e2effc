// NodeRegistry: what devices report of themselves, as the scheduler sees it: nodes come, change, fall silent and go,
// and offer local volumes.
#pragma once

#include <set>
#include <string>

#include "core/placement/certificate_watch.h"
#include "core/placement/listings.h"
#include "core/placement/node_backoff.h"
#include "core/placement/node_news.h"
#include "core/placement/object_admission.h"
#include "core/placement/pod_lifecycle.h"
#include "core/placement/quarantine.h"
#include "core/placement/refusal_watch.h"
#include "core/placement/release_list.h"
#include "core/placement/renewals.h"
#include "core/placement/routine_heartbeats.h"

namespace berth {

class NodeRegistry {
 public:
  struct Parts {
    EventHandlers& handlers;
    RequestSender& sender;
    Listings& listings;
    VolumeBinder& volumes;
    ObjectAdmission& admission;
    ObjectChanges& changes;
    ReleaseList& releases;
    PodLifecycle& pods;
    RefusalWatch& refusals;
  };
  // All outlive it.
  NodeRegistry(const PlacementContext& context, const Parts& parts)
      : context_(context),
        parts_(parts),
        backoff_({context.options.pass_over_ms, context.options.pass_over_ms_max}),
        quarantine_(context.options.node_limits),
        routine_(context, parts.listings.runs()),
        renewals_(context, parts.sender),
        news_(context.events) {}

  // A message from the node's own topic; `what`: "state", "presence" or "heartbeat". An error says what was wrong with
  // it and changes nothing.
  Status take_report(const std::string& node, std::string_view what, const Json& payload);
  // What a message has changed of the node follows.
  void apply_change(const std::string& node, const NodeChange& change);
  // How far the device's store has come, as the answer says: in another run of the agent the device is compared.
  void note_position(const Answer& answer);
  // An answer carries another incarnation than the node is known by.
  void note_incarnation(const Answer& answer);
  // Facts, overlay or taint have changed.
  void refresh(const std::string& node);
  // The directories that the device offers, as PersistentVolumes. One that it no longer offers goes unless it is in
  // use.
  void refresh_local_volumes(const std::string& node);
  // Volumes that were refused for want of capacity are offered again.
  // Of some nodes; has_refused_volumes() tells whether there are more.
  void retry_refused_volumes();
  // At a start: the node as stored. Its volumes are looked at again like refused ones, since some may have been refused
  // shortly before.
  void recover(const std::string& node);
  bool has_refused_volumes() const { return !volumes_refused_.empty(); }
  // Lists the node, and requests again what its rows and release-list entries wait for.
  void ask_everything(const std::string& node);
  // Out of everything that knows it as a node.
  void drop(const std::string& node);
  // A listing of each node now and then, whether or not anything seems wrong.
  void compare_periodically();
  void check_silence();
  // A node that does not take what it is asked to is passed over for a while.
  void note_prebind(const Row& row, PreBindOutcome outcome);
  // Those whose time is over are asked again.
  void end_backoffs();
  // Called once a second: takes the states of devices that change them too often.
  void take_states_put_off();
  // Of a listing of `listed` slots nobody gave `unexplained`. False: that is beyond the limits, and the node is
  // quarantined.
  bool admit_listing(const std::string& node, std::size_t listed, std::size_t unexplained);
  // Keeps pods away from the node for this reason; empty: no more.
  void quarantine(const std::string& node, Hold hold, const std::string& why) {
    if (context_.nodes.set_hold(node, hold, why)) note_quarantine(node);
  }
  // They were taken.
  void note_unexplained(const std::string& node, std::size_t slots) {
    quarantine_.note_unexplained(node, slots, context_.clock.now());
  }
  // It leaves statuses that no slot explains, beyond the limits; empty: no longer.
  void hold_statuses(const std::string& node, const std::string& why);
  // Why the node is passed over now, and for how long; empty: it is not.
  std::string passed_over(const std::string& node) const;

  RoutineHeartbeats& routine() { return routine_; }
  // Their certificates.
  Renewals& renewals() { return renewals_; }
  const Renewals& renewals() const { return renewals_; }
  // Nodes that have listed their slots in this adopt mode.
  std::set<std::string>& adopted() { return adopted_; }

 private:
  bool is_silent_return(const std::string& node, std::string_view what, const Json& payload) const;
  bool is_of_twin(const std::string& node, const std::string& incarnation) const;
  Result<NodeChange> take_heartbeat(const std::string& node, const Json& payload);

  void compare(const std::string& node);
  // An event of the node, which its device caused.
  void tell(const std::string& node, const char* type, const char* reason, std::string message);
  void note_quarantine(const std::string& node);
  void note_certificate(const std::string& node);
  void note_store_lost(const std::string& node, const std::string& why);
  bool hold_back(const std::string& node);

  const PlacementContext& context_;
  Parts parts_;
  NodeBackoff backoff_;
  Quarantine quarantine_;
  CertificateWatch certificates_;
  RoutineHeartbeats routine_;
  Renewals renewals_;
  NodeNews news_;
  std::set<std::string> volumes_refused_;  // nodes that offered volumes when there was no capacity
  std::set<std::string> adopted_;
};

}  // namespace berth
