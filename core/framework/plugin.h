// The extension points, as interfaces, and the meaning of each status there. Order, cardinality and consequences follow
// kube-scheduler 1.35: staging/src/k8s.io/kube-scheduler/framework/interface.go, pkg/scheduler/framework/runtime.
// A plugin implements any number of points. No point may suspend: the scheduling cycle is a plain function, and the
// only asynchronous step, the exchange with the device between PreBind and Bind, is run by core itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/clock.h"
#include "core/framework/cycle_state.h"
#include "core/framework/declarations.h"
#include "core/framework/events.h"
#include "core/framework/node_statuses.h"
#include "core/framework/profile.h"
#include "core/framework/queued_pod.h"
#include "core/handshake/messages.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

class Framework;

// What every plugin has. What it may declare about its results is in declarations.h.
class Plugin : public Declarations {
 public:
  // As used in configuration and messages; static storage.
  virtual std::string_view name() const = 0;
  // The arguments in configuration form, with all defaults filled in; null: takes none. For --print-config.
  virtual Json args() const { return {}; }
};

// Called before a pod enters active or backoff. Any status but success gates the pod until an event of this plugin.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual Status pre_enqueue(const Pod& pod) = 0;
};

// Exactly one per profile, the same in every profile.
class QueueSortPlugin : public virtual Plugin {
 public:
  virtual bool less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

// The events that may make a pod rejected by this plugin schedulable. Without it, every event retries such pods.
class EnqueueExtensions : public virtual Plugin {
 public:
  virtual std::vector<EventWithHint> events_to_register() const = 0;
};

struct PreFilterResult {
  std::optional<std::set<std::string>> node_names;  // none: all nodes
  std::set<std::string> plugins;                    // the plugins that narrowed it; filled in by the runner
};

// Called once per attempt, before Filter. Skip: this plugin's Filter is skipped. Unresolvable: stop at once.
// Unschedulable: the remaining plugins still run, then the pod is rejected for all nodes. Any other status, including
// pending: error.
class PreFilterPlugin : public virtual Plugin {
 public:
  virtual Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) = 0;
  // Update the state written by pre_filter() when a pod is added to, or removed from, a trial copy of a node.
  virtual Status add_pod(CycleState&, const Pod& /*pod*/, const Pod& /*added*/, const NodeInfo&) { return {}; }
  virtual Status remove_pod(CycleState&, const Pod& /*pod*/, const Pod& /*removed*/, const NodeInfo&) { return {}; }
};

// Called per node. Unschedulable, unresolvable or pending: the node is rejected. Any other status but success: error,
// the cycle ends.
class FilterPlugin : public virtual Plugin {
 public:
  virtual Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) = 0;
};

// For Filter plugins: called instead of Filter about a pod whose manifest has spec.nodeName, and that node. The
// scheduler has no choice there; this is what a kubelet checks before it takes a pod
// (pkg/kubelet/lifecycle/predicate.go). Plugins without it let such pods pass, rejected by their PreFilter or not.
class AdmissionPlugin : public virtual Plugin {
 public:
  virtual Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) = 0;
};

struct PostFilterResult {
  // "" = clear the nomination, a name = nominate, none = leave as it is.
  std::optional<std::string> nominated_node;
  // To be evicted from nominated_node, most important first. The plugin chooses them; core evicts them.
  std::vector<PodPtr> victims;
};

// Called when no node is feasible. Success: preemption can make the pod schedulable. Unschedulable, pending: the next
// plugin tries. Unresolvable: nothing helps, stop. Any other status: stop; the pod stays unschedulable, and the error
// is reported.
class PostFilterPlugin : public virtual Plugin {
 public:
  // `framework`: the profile it runs in, for running Filter on trial copies of nodes. `node_statuses`: why each node
  // was rejected, by its index in Handle::snapshot().
  virtual Status post_filter(const Framework& framework, CycleState& state, const Pod& pod,
                             const NodeStatuses& node_statuses, PostFilterResult& result) = 0;
  // Whether post_filter() would read for this pod what PreFilter writes into the state. Where not, PreFilter is not run
  // for it when the reasons of all nodes are known without.
  virtual bool reads_state(const Pod& /*pod*/) const { return true; }
};

// Called once, with the feasible nodes. Skip: this plugin's Score is skipped; whether it skips must not depend on the
// nodes or their number. Any other status but success: error.
class PreScorePlugin : public virtual Plugin {
 public:
  virtual Status pre_score(CycleState& state, const Pod& pod,
                           const std::vector<std::shared_ptr<const NodeInfo>>& feasible) = 0;
};

struct NodeScore {
  std::string node;
  std::int64_t score = 0;
};

// Called per feasible node. After NormalizeScore, for plugins that have it, every score must be in [0, 100], else
// error. Total = sum of score x weight.
class ScorePlugin : public virtual Plugin {
 public:
  static constexpr std::int64_t kMaxScore = 100;
  virtual Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) = 0;
};

// NormalizeScore: for Score plugins whose scores mean something only relative to each other. Called once, with the
// scores of all feasible nodes, before the weight is applied. Any status but success: error.
class NormalizeScorePlugin : public virtual Plugin {
 public:
  virtual Status normalize(CycleState& state, const Pod& pod, std::vector<NodeScore>& scores) = 0;
};

// Called in order; at the first failure unreserve runs for every Reserve plugin in reverse order, including those not
// yet called.
class ReservePlugin : public virtual Plugin {
 public:
  virtual Status reserve(CycleState& state, const Pod& pod, const std::string& node) = 0;
  virtual void unreserve(CycleState& state, const Pod& pod, const std::string& node) = 0;  // idempotent
  // After a restart: reserves again what reserve() had reserved for a binding in progress, as recorded in its row.
  virtual void restore(CycleState&, const Pod& /*pod*/, const std::string& /*node*/,
                       const std::vector<BoundVolume>& /*bound_volumes*/) {}
};

// Returns success, wait (and sets `timeout`, at most 15 minutes) or a rejection.
class PermitPlugin : public virtual Plugin {
 public:
  virtual Status permit(CycleState& state, const Pod& pod, const std::string& node, Millis& timeout) = 0;
};

// What core sends to the device in PreBind; plugins add to it.
struct PlacementRequest {
  std::vector<BoundVolume> volumes;
  // Claims ("<namespace>/<name>") that must be provisioned first. If not empty, core durably writes the node into each
  // one's annotation volume.kubernetes.io/selected-node, does not contact the device yet, drops what else this call
  // added, and calls the plugin again when a claim or volume has changed, and at the latest at `again_at`.
  std::vector<std::string> provision;
  Millis again_at = 0;  // on Handle::clock()
};

class PreBindPlugin : public virtual Plugin {
 public:
  // Success: pre_bind() will be called. Skip: it will not. Any other status: error.
  virtual Status pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) = 0;
  // Called in order, once in an attempt, before the row is written and the device is contacted; one that waits for a
  // provisioner is called again until it has what it needs, and those after it only then. A rejection or an error fails
  // the binding.
  virtual Status pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest& request) = 0;
};

// Called after the device answered PreBound. Skip: the next plugin decides; if all skip, the binding fails without an
// event.
// Success: core enters phase bind.
class BindPlugin : public virtual Plugin {
 public:
  virtual Status bind(CycleState& state, const Pod& pod, const std::string& node) = 0;
};

class PostBindPlugin : public virtual Plugin {
 public:
  virtual void post_bind(CycleState& state, const Pod& pod, const std::string& node) = 0;
};

}  // namespace berth
