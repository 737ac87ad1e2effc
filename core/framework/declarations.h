// Declarations: what a plugin may state about its results, so that the fast path (core/fastpath) can reuse them instead
// of calling the plugin for every node and every pod. All of it is optional, none of it changes a decision, and all of
// it must be true: a plugin that declares too much is not called where its result would have changed.
// plugins/README.md explains them with an example.
//
//   reads()            what the results of a point depend on, besides the pod's class
//   tells_apart()      which pods get the same results although their classes differ
//   names_nodes()      PreFilter leaves only nodes that the pod names
//   accepts_all()      Filter accepts every node for this pod
//   BatchFilterPlugin  Filter for many nodes in one call
//   AmountsFilterPlugin  of the pods on a node, Filter reads only how many there are and what is requested
//   BatchScorePlugin   Score for many nodes in one call
//   SummingPlugin      PreFilter and PreScore sum over all nodes; the sums can be updated node by node
//   TrackingPlugin     PreFilter and Filter read other objects; the plugin knows which nodes a change affects
//
// A class of pods: equal profile, namespace and spec (core/fastpath/pod_class.h), and equal labels where a
// SummingPlugin reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cache/cache.h"
#include "core/framework/cycle_state.h"
#include "core/framework/domains.h"
#include "core/framework/kind_filter.h"
#include "core/framework/profile.h"
#include "core/framework/rows.h"
#include "core/recycled.h"
#include "core/status.h"

namespace berth {

struct Pod;

// What a plugin's results depend on for pods of one class, besides its arguments and the class itself (namespace and
// spec, except which volumes the pod has).
enum class Reads {
  anything,         // not declared: called again for every pod
  node,             // Filter, Score: the node and what is placed on it; PreFilter, PreScore: the class alone
  node_object,      // the same, but of the node its object alone, whatever is placed on it
  node_and_images,  // the same, and the number of nodes while any has images
  sums,             // sums over all nodes; the plugin is a SummingPlugin
  objects,          // PreFilter, Filter: as `node`, and objects whose changes it reports; it is a TrackingPlugin
};

// True when the fast path can reuse the results of a point: `is_summing` and `is_tracked` say whether sums or objects
// are followed.
inline bool is_declared(Reads reads, bool is_summing, bool is_tracked) {
  if (reads == Reads::objects) return is_tracked;
  return reads != Reads::anything && (reads == Reads::sums) == is_summing;
}

// What every plugin may declare. The defaults declare nothing.
class Declarations {
 public:
  virtual ~Declarations() = default;
  // For the point PreFilter, Filter, PreScore or Score and pods of this pod's class. A point that declares less than
  // `anything` is called again only for nodes that changed. The state that it reads must have been written by points
  // that declare as much, no point after Score may need the state that it writes, and normalize() must map equal scores
  // to equal scores, whatever and however many the nodes are.
  virtual Reads reads(const Pod& /*pod*/, Point /*point*/) const { return Reads::anything; }
  // For plugins that read only the pod and nodes: false when they read nothing in which these pods differ, so that the
  // results for one are valid for the other. May depend on whether any node has an image.
  virtual bool tells_apart(const Pod& /*a*/, const Pod& /*b*/) const { return true; }
  // True when PreFilter is about to name the nodes that may fit the pod: then all others need not be looked at, and
  // nothing is kept about them.
  virtual bool names_nodes(const Pod& /*pod*/) const { return false; }
  // After PreFilter: true when filter() is certain to accept every node, so that it need not be called.
  virtual bool accepts_all(const CycleState&, const Pod& /*pod*/) const { return false; }
};

// A Filter plugin that can evaluate many nodes at once, for example by the rows' amounts.
class BatchFilterPlugin {
 public:
  virtual ~BatchFilterPlugin() = default;
  // filter() for each row: sets rejects[row], which is 0 or 1, to 1 where it rejects the node, and leaves the others as
  // they are. False, and nothing changed, when it cannot for this pod or these nodes; then filter() is called for each.
  virtual bool filter_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                           std::uint8_t* rejects) = 0;
  // Where filter_rows() can: sets reasons[row] to a number of why filter() rejects the node, 0 where it does not. For
  // nodes of one number it returns equal statuses. False, and `reasons` say nothing, when it cannot.
  virtual bool number_reasons(const CycleState& /*state*/, const Snapshot& /*snapshot*/, const Rows& /*rows*/,
                              std::uint8_t* /*reasons*/) {
    return false;
  }
};

// The same for score(), before normalize(): sets scores[row].
class BatchScorePlugin {
 public:
  virtual ~BatchScorePlugin() = default;
  // True when every node's score is 0, so that none need be asked for.
  virtual bool scores_none(const Pod& /*pod*/, const Snapshot& /*snapshot*/) const { return false; }
  virtual bool score_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                          std::int32_t* scores) = 0;
};

// A Filter plugin that can judge a node as if other pods were on it: what is placed on a node matters to it only by the
// sum of requests and the number of pods. So preemption needs no copy of the node to try it without some of its pods.
class AmountsFilterPlugin {
 public:
  virtual ~AmountsFilterPlugin() = default;
  // filter() for the node if so much were requested of it, with so many pods; what still counts
  // against the node after its pod is gone is among both.
  virtual Status filter_amounts(const CycleState& state, const NodeInfo& node, const Resources& requested,
                                std::int64_t pods) = 0;
};

// Nodes that no plugin distinguishes except by their own scores.
struct AlikeNodes {
  std::shared_ptr<const NodeInfo> any;  // one of them
  std::size_t index = 0;                // its index
  std::size_t count = 0;
};

// The properties of a node that a plugin distinguishes it by, as numbers.
using Traits = RecyclingVector<std::int64_t>;

// A plugin whose PreFilter and PreScore sum over all nodes and the pods on them, and whose Filter and Score compare a
// node, or its topology domains, with these sums. The sums are kept between pods of a class in a CycleState of the
// class and updated with every change; filter() and score() find there what pre_filter() and pre_score() would have
// written. Of other pods the plugin reads no more than what makes them of one kind (core/cache/pod_kinds.h). reads()
// returns `sums` at all of its points.
//
// A node is known by the domains that it is in, which are the values of its labels by the keys watched, and by traits
// of its own: nodes in equal domains with equal traits get equal results from filter() and score(), whatever the sums.
// A node that is alone in a domain, by a key that is_per_node(), is known by its traits instead.
class SummingPlugin {
 public:
  virtual ~SummingPlugin() = default;
  // True when the pod's labels may affect the plugin's results; then pods with different labels are different classes.
  virtual bool reads_labels(const Pod& pod, const Snapshot& snapshot) const = 0;
  // Starts with the sums over all nodes as if no pods were on them. Watches topology keys; while it watches none, no
  // node has traits.
  virtual void begin_sums(CycleState& state, const Pod& pod, const Snapshot& snapshot, Domains& domains) = 0;
  // After begin_sums(): true when the functions that sum, and add_traits(), would do nothing for any of these nodes, so
  // that they need not be called. Asked again for each pod of the class; when it turns false, the sums are rebuilt.
  virtual bool is_idle(const CycleState& /*state*/, const Pod& /*pod*/, const Snapshot&) const { return false; }
  // False when an object other than nodes and pods on them has changed, so that the sums must be rebuilt.
  virtual bool sums_hold(const CycleState& state, const Pod& pod) const = 0;
  // Adds what a node alone contributes, multiplied by `times`, 1 or -1: it came, or went, without pods.
  virtual void sum_node(CycleState& state, const Pod& pod, const Node& node, std::int64_t times) = 0;
  // Lets those kinds of pods pass that counts_pod() could be true for.
  virtual void filter_kinds(const CycleState& /*state*/, const Pod& /*pod*/, KindFilter& filter) const {
    filter.let_all_pass();
  }
  // True when pods like `other` contribute anything, on whichever node.
  virtual bool counts_pod(CycleState& state, const Pod& pod, const Pod& other) const = 0;
  // Adds what so many pods like `other` contribute that came to the node; fewer than 0 left it. May watch further keys.
  virtual void sum_pods(CycleState& state, const Pod& pod, const Node& node, const Pod& other, std::int64_t pods,
                        Domains& domains) = 0;
  // False when add_traits() would append only 0 for every node, whatever pods come and go, until other keys are watched
  // or one of them is unique per node no more.
  virtual bool has_traits(const CycleState& /*state*/, const Domains& /*domains*/) const { return true; }
  // Appends the node's own traits. All must be 0 for a node to which sum_pods() has added nothing.
  virtual void add_traits(const CycleState& state, const Pod& pod, const NodeInfo& node, const Domains& domains,
                          Traits& traits) const = 0;
  // True when pre_filter() for such a pod would return Skip now.
  virtual bool skips_filter(const CycleState& state, const Pod& pod) const = 0;
  // Equivalent to pre_score() with these feasible nodes: success or Skip.
  virtual Status pre_score_sums(CycleState& state, const Pod& pod, const std::vector<AlikeNodes>& feasible,
                                const Domains& domains) = 0;
};

// A plugin whose PreFilter and Filter read objects besides the pod and the node, and which knows the pods and nodes
// that a change of these objects affects. Its results are cached between pods of a class; PreFilter and Filter are run
// for the pod itself only on the node that it gets.
class TrackingPlugin {
 public:
  virtual ~TrackingPlugin() = default;
  // The pod's equivalence key under the current objects: pods of one class with equal keys get equal results on every
  // node. None: results for this pod cannot be cached.
  virtual std::optional<std::string> equivalence_key(const Pod& pod) = 0;
  // `state` is one on which PreFilter ran for a pod of the class; Filter runs on it after the first call. What Filter
  // notes for the points after it is not read from it. Appends the indices in nodes() of nodes whose Filter result may
  // have changed since the last call or, the first time, since PreFilter. False: any may have.
  virtual bool changed(CycleState& state, const Snapshot& snapshot, std::vector<std::size_t>& indices) = 0;
  // Does a part of what the first equivalence_key() would do about all objects at once, for so many of them. False:
  // nothing was left to do that takes long.
  virtual bool prepare(const Pod& /*pod*/, std::size_t /*most*/) { return false; }
};

}  // namespace berth
