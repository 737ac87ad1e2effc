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
#include "core/framework/domains.h"
#include "core/framework/events.h"
#include "core/framework/node_statuses.h"
#include "core/framework/profile.h"
#include "core/framework/queued_pod.h"
#include "core/handshake/messages.h"
#include "core/recycled.h"
#include "core/status.h"

namespace berth {

class Framework;

// What a plugin's answers depend on for pods of one class, besides its arguments and the class: namespace and spec, but
// for which volumes there are.
enum class Reads {
  anything,         // asked about every node, every time
  node,             // Filter, Score: the node and what is placed on it; PreFilter, PreScore: the class alone
  node_and_images,  // the same, and Snapshot::images() and the number of nodes
  sums,             // SummingPlugin
  objects,          // PreFilter, Filter: as `node`, and objects that a TrackingPlugin tells of
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  // As in configuration and messages; static storage.
  virtual std::string_view name() const = 0;
  // Its arguments as a profile may give them, every default filled in; null: it takes none. For --print-config.
  virtual Json args() const { return {}; }
  // Of that point, PreFilter, Filter, PreScore or Score, about a pod like this one. Who declares less than `anything`
  // is asked again only about what has changed, has no use for what its PreFilter wrote after Score, and its
  // normalize() gives equal scores equal ones, whatever nodes they are of and however many.
  virtual Reads reads(const Pod& /*pod*/, Point /*point*/) const { return Reads::anything; }
  // Of who reads nodes only, besides the pod: false when Filter and Score read nothing in which these pods differ, so
  // that the answers for one hold for the other.
  virtual bool tells_apart(const Pod& /*a*/, const Pod& /*b*/) const { return true; }
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

// Per node. Unschedulable, unresolvable or pending: the node is out. Other than success: error, the cycle ends.
class FilterPlugin : public virtual Plugin {
 public:
  virtual Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) = 0;
  // filter() of every node: `rejects`, by place, 0 or 1; as many as nodes. False: something broke. Who can compare all
  // nodes at once overrides it.
  virtual bool filter_all(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                          std::vector<std::uint8_t>& rejects);
  // After PreFilter: true when filter() is sure to accept every node, so that it need not be asked.
  virtual bool accepts_all(const CycleState&, const Pod& /*pod*/) const { return false; }
};

// A plugin whose PreFilter and Filter read objects besides the pod and the node, and who knows what a change of them
// means: for which pods, and on which nodes. Its answers are kept from pod to pod of a class; only for the node that a
// pod gets are PreFilter and Filter run with the pod itself.
class TrackingPlugin : public virtual Plugin {
 public:
  // What the objects make of the pod just now: pods of one class and of equal kinds get equal answers on every node.
  // None: such a pod has to be asked about node by node.
  virtual std::optional<std::string> kind_of(const Pod& pod) = 0;
  // `state`: PreFilter and Filter of one pod of the class were run on it. Appends the places in nodes() whose Filter
  // may answer otherwise since the last call or, the first time, since PreFilter. False: any may.
  virtual bool changed(CycleState& state, const Snapshot& snapshot, std::vector<std::size_t>& places) = 0;
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
  // `framework`: the profile it runs in, to try Filter on copies. `node_statuses`: why each node was rejected,
  // by its place in Handle::snapshot().
  virtual Status post_filter(const Framework& framework, CycleState& state, const Pod& pod,
                             const NodeStatuses& node_statuses, PostFilterResult& result) = 0;
};

// Once, over the feasible nodes. Whether it answers Skip does not depend on which they are, or how many. Skip: this
// plugin's Score is left out. Other than success: error.
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
  // score() of every node, by place, as filter_all(). A score that has no room in 32 bits breaks it.
  virtual bool score_all(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                         std::vector<std::int32_t>& scores);
  virtual Status normalize(CycleState&, const Pod&, std::vector<NodeScore>& /*scores*/) { return {}; }
  // False: normalize() leaves every score as it is.
  virtual bool normalizes() const { return true; }
};

// Nodes that no plugin tells apart but by their own scores.
struct AlikeNodes {
  std::shared_ptr<const NodeInfo> any;  // one of them
  std::size_t count = 0;
};

// What tells a node from others, in numbers.
using Traits = RecyclingVector<std::int64_t>;

// A plugin whose PreFilter and PreScore sum up over all nodes, and whose Filter and Score compare a node, or the
// domains that it lies in, with these sums. The sums are kept from pod to pod of a class in a CycleState of the class,
// in step with every change of a node; filter() and score() find there what pre_filter() and pre_score() would have
// written.
class SummingPlugin : public virtual Plugin {
 public:
  // True when the pod's labels may count for the plugin: pods of other labels are of another class then.
  virtual bool reads_labels(const Pod& pod, const Snapshot& snapshot) const = 0;
  // The sums over no nodes. `domains`: the plugin has it watch the topology keys that it asks for.
  virtual void begin_sums(CycleState& state, const Pod& pod, Domains& domains) = 0;
  // False: an object other than nodes and pods on them has changed, so that they have to begin anew.
  virtual bool sums_hold(const CycleState& state, const Pod& pod) const = 0;
  // Adds what the node contributes `times` times, 1 or -1.
  virtual void sum(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t times, Domains& domains) = 0;
  // Appends what tells the node from others: where all of it is equal, so are filter() and score(), whatever the sums.
  // Depends on the node, what is placed on it and `domains` alone.
  virtual void add_traits(const CycleState& state, const Pod& pod, const NodeInfo& node, const Domains& domains,
                          Traits& traits) const = 0;
  // True when pre_filter() of such a pod would answer Skip by now.
  virtual bool skips_filter(const CycleState& state, const Pod& pod) const = 0;
  // As pre_score() with these feasible nodes: success or Skip.
  virtual Status pre_score_sums(CycleState& state, const Pod& pod, const std::vector<AlikeNodes>& feasible,
                                const Domains& domains) = 0;
};

// In order; at the first failure unreserve runs for every Reserve plugin in reverse, those not called included.
class ReservePlugin : public virtual Plugin {
 public:
  virtual Status reserve(CycleState& state, const Pod& pod, const std::string& node) = 0;
  virtual void unreserve(CycleState& state, const Pod& pod, const std::string& node) = 0;  // idempotent
  // After a restart: takes again what reserve() held for a binding that was under way, as its row tells.
  virtual void restore(CycleState&, const Pod& /*pod*/, const std::string& /*node*/,
                       const std::vector<BoundVolume>& /*bound_volumes*/) {}
};

// Success, wait (set `timeout`, at most 15 minutes) or a rejection.
class PermitPlugin : public virtual Plugin {
 public:
  virtual Status permit(CycleState& state, const Pod& pod, const std::string& node, Millis& timeout) = 0;
};

// What core asks of the device in PreBind; plugins add to it.
struct PlacementRequest {
  std::vector<BoundVolume> volumes;
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
  virtual Status pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest& request) = 0;
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
