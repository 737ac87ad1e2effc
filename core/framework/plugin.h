// The extension points, as interfaces, and what each status does there. Order, cardinality and consequences follow
// kube-scheduler 1.35: staging/src/k8s.io/kube-scheduler/framework/interface.go, pkg/scheduler/framework/runtime.
// A plugin implements any number of points. No point may suspend: the scheduling cycle is a plain function, and what
// takes time between PreBind and Bind is the exchange with the device, which core runs itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/objects.h"
#include "core/cache/cache.h"
#include "core/clock.h"
#include "core/framework/cycle_state.h"
#include "core/framework/events.h"
#include "core/handshake/messages.h"
#include "core/queue/queued_pod.h"
#include "core/status.h"

namespace berth {

class Framework;

class Plugin {
 public:
  virtual ~Plugin() = default;
  // As in configuration and messages; static storage.
  virtual std::string_view name() const = 0;
  // Its arguments as a profile may give them, every default filled in; null: it takes none. For --print-config.
  virtual Json args() const { return {}; }
};

// Before a pod enters active or backoff. Any status but success: the pod is gated, and only this plugin's events
// run it again.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual Status pre_enqueue(const Pod& pod) = 0;
};

// Exactly one, the same in every profile.
class QueueSortPlugin : public virtual Plugin {
 public:
  virtual bool less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

// Which events may make a pod that this plugin rejected fit. A plugin without it is woken by every event.
class EnqueueExtensions : public virtual Plugin {
 public:
  virtual std::vector<EventWithHint> events_to_register() const = 0;
};

struct PreFilterResult {
  std::optional<std::set<std::string>> node_names;  // none: all nodes
  std::set<std::string> plugins;                    // who narrowed it; the runner fills it in
};

// Once per attempt, before Filter. Skip: this plugin's Filter is left out. Unresolvable: stop at once. Unschedulable:
// the remaining ones still run, then the pod is rejected for all nodes. Other, pending too: error.
class PreFilterPlugin : public virtual Plugin {
 public:
  virtual Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) = 0;
  // Keep what pre_filter wrote in step when a pod is added to or taken from a node on trial.
  virtual Status add_pod(CycleState&, const Pod& /*pod*/, const Pod& /*added*/, const NodeInfo&) { return {}; }
  virtual Status remove_pod(CycleState&, const Pod& /*pod*/, const Pod& /*removed*/, const NodeInfo&) { return {}; }
};

// What a plugin's answer about a node depends on, besides its arguments and the class of the pod: namespace, labels and
// spec. Who declares less than `anything` is asked again only when that has changed, and its PreFilter and PreScore may
// look at the class of the pod alone.
enum class Reads {
  anything,         // asked every time
  node,             // the node and what is placed on it
  node_and_images,  // the same, Snapshot::images() and the number of nodes
};

// Per node. Unschedulable, unresolvable or pending: the node is out. Other than success: error, the cycle ends.
class FilterPlugin : public virtual Plugin {
 public:
  virtual Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) = 0;
  virtual Reads filter_reads() const { return Reads::anything; }
};

struct PostFilterResult {
  // "" = clear the nomination, a name = nominate, none = leave as it is.
  std::optional<std::string> nominated_node;
  // To be evicted from nominated_node, most important first. The plugin decides; core does it.
  std::vector<std::shared_ptr<const Pod>> victims;
};

// When no node is feasible. Success: preemption found a way. Unschedulable, pending: the next one tries. Unresolvable:
// nothing helps, stop. Other: stop; the pod stays unschedulable, and the text of the error is told.
class PostFilterPlugin : public virtual Plugin {
 public:
  // `framework`: the profile it runs in, to try Filter on copies. `node_statuses`: why each node was rejected.
  virtual Status post_filter(const Framework& framework, CycleState& state, const Pod& pod,
                             const std::map<std::string, Status>& node_statuses, PostFilterResult& result) = 0;
};

// Once, over the feasible nodes. Skip: this plugin's Score is left out. Other than success: error.
class PreScorePlugin : public virtual Plugin {
 public:
  virtual Status pre_score(CycleState& state, const Pod& pod,
                           const std::vector<std::shared_ptr<const NodeInfo>>& feasible) = 0;
};

struct NodeScore {
  std::string node;
  std::int64_t score = 0;
};

// After normalize every score lies in [0, 100], else error. Total = sum of score x weight.
class ScorePlugin : public virtual Plugin {
 public:
  static constexpr std::int64_t kMaxScore = 100;
  virtual Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) = 0;
  virtual Status normalize(CycleState&, const Pod&, std::vector<NodeScore>& /*scores*/) { return {}; }
  // Of score(). normalize() of a plugin that declares less than `anything` looks at the scores alone.
  virtual Reads score_reads() const { return Reads::anything; }
};

// In order; at the first failure unreserve runs for every Reserve plugin in reverse, those not called included.
class ReservePlugin : public virtual Plugin {
 public:
  virtual Status reserve(CycleState& state, const Pod& pod, const std::string& node) = 0;
  virtual void unreserve(CycleState& state, const Pod& pod, const std::string& node) = 0;  // idempotent
  // After a restart: takes again what reserve() held for a binding that was under way, as its row tells.
  virtual void restore(CycleState&, const Pod& /*pod*/, const std::string& /*node*/,
                       const std::vector<VolumeGrant>& /*grants*/) {}
};

// Success, wait (set `timeout`, at most 15 minutes) or a rejection.
class PermitPlugin : public virtual Plugin {
 public:
  virtual Status permit(CycleState& state, const Pod& pod, const std::string& node, Millis& timeout) = 0;
};

// What core asks of the device in PreBind; plugins add to it.
struct BindRequest {
  std::vector<VolumeGrant> volumes;
  // Claims ("<namespace>/<name>") that a provisioner has to fill first. Not empty: core writes the node into each one's
  // annotation volume.kubernetes.io/selected-node, durably, asks the device nothing yet, and runs PreBind again from
  // the start when a claim or volume has changed, and at the latest at `again_at`.
  std::vector<std::string> provision;
  Millis again_at = 0;  // of Handle::clock()
};

class PreBindPlugin : public virtual Plugin {
 public:
  // Success: pre_bind will do something. Skip: it is left out. Other: error.
  virtual Status pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) = 0;
  // In order, before the row is written and the device is asked; a plugin after one that waits for provisioners is not
  // called yet. A rejection or an error ends the binding.
  virtual Status pre_bind(CycleState& state, const Pod& pod, const std::string& node, BindRequest& request) = 0;
};

// After the device answered PreBound. Skip: the next one decides; all skip: the binding fails without an event.
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
