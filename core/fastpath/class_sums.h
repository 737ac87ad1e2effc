// ClassSums: what SummingPlugins count for one class of pods, kept up to date with the pods and nodes that come and go.
// It knows which of them have anything to count, which kinds of pods they count, and on which nodes such pods are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/fastpath/index_set.h"
#include "core/fastpath/kind_verdicts.h"
#include "core/framework/declarations.h"

namespace berth {

class ClassSums {
 public:
  // The state of the class, which has the sums; one of its pods; the domains that plugins watch. All outlive it.
  ClassSums(CycleState& state, const Pod& pod, Domains& domains) : state_(state), pod_(pod), domains_(domains) {}
  // Before begin(): a declared plugin, once or more often.
  void add(SummingPlugin* plugin);
  // Sums up all that there is.
  void begin(const Snapshot& snapshot);
  // False: another object has changed, or a plugin that had nothing to count has now. Then begin() has to be called.
  bool hold(const Snapshot& snapshot) const;

  // The plugins that have anything to count. While there are none the following need not be called.
  const std::vector<SummingPlugin*>& active() const { return active_; }
  // True for most changes: the pods do not count.
  bool is_out(const PodKinds::Change& change) const { return verdicts_.is_out(change.kind, change.serial); }
  // Pods of a kind that came to a node, which had this object, or left it.
  void follow(const PodKinds::Change& change, const Node& node, const Snapshot& snapshot) {
    if (counts_kind(change, snapshot)) add_pods(change.index, node, *change.pod, change.pods);
  }
  // A node came (1), or went (-1), without pods that count.
  void add_node(const Node& node, std::int64_t times);
  // The same with its pods.
  void add_whole(std::size_t index, const NodeInfo& node, std::int64_t times);

  // True when nodes may be told apart by more than the domains that they are in.
  bool have_traits() const;
  void add_traits(const NodeInfo& node, Traits& traits) const;
  const IndexSet& touched() const { return touched_; }  // pods that count are, or were, there
  std::size_t bytes() const { return verdicts_.bytes() + touched_.bytes(); }

 private:
  bool counts_pod(const Pod& other);
  bool counts_kind(const PodKinds::Change& change, const Snapshot& snapshot);
  void add_pods(std::size_t index, const Node& node, const Pod& other, std::int64_t pods);

  CycleState& state_;
  const Pod& pod_;
  Domains& domains_;
  std::vector<SummingPlugin*> all_, active_;
  KindFilter kind_filter_;  // kinds that do not pass it are counted by no active plugin
  KindVerdicts verdicts_;   // whether active plugins count pods of a kind
  IndexSet touched_;
};

}  // namespace berth
