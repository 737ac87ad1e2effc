// ClassView: the feasibility and scores of all nodes for one class of pods, kept between pods. A decision updates it
// for the nodes that changed, and compares groups of nodes instead of nodes.
//
//   pods and nodes came or went ─▶ sums of SummingPlugins
//   node changed ─▶ BaseView, shared: Filter of the others ─▶ group (its traits) and own score ─▶ Ranks
//   object changed ─▶ TrackingPlugins name the nodes ─▶ as if those nodes had changed
//   decision     ─▶ per group: Filter by sums ─▶ per group: Score, normalize ─▶ the best own scores of the best groups
//                   undeclared plugins, if any: on nodes by descending total, until the best one is certain
//
// Every result comes from the plugins' own filter(), score() and normalize(), or their batches, called for nodes that
// changed or for one node of a group. The decision equals that of schedule_pod() without an evaluator, the seeded draw
// included.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/fastpath/attempt.h"
#include "core/fastpath/base_views.h"
#include "core/fastpath/class_sums.h"
#include "core/fastpath/ranks.h"
#include "core/fastpath/undeclared.h"
#include "core/fastpath/view_scratch.h"
#include "core/framework/framework.h"
#include "core/framework/node_statuses.h"
#include "core/random.h"

namespace berth {

class ClassView {
 public:
  // The pod's keys by plugin, for each TrackingPlugin that reads objects for it.
  using EquivalenceKeys = std::map<std::string, std::optional<std::string>>;
  static EquivalenceKeys equivalence_keys_of(const Framework& framework, const Pod& pod);

  // `bases`: of the framework; `scratch`: shared with other views. Both outlive it.
  ClassView(const Framework& framework, const Pod& pod, EquivalenceKeys keys, BaseViews& bases, ViewScratch& scratch);
  bool is_of(const Framework& framework, const Pod& pod, const EquivalenceKeys& keys, bool with_labels) const;

  // Updates the view for a pod of the class. Not empty: why the plain path has to decide for the pod.
  std::string_view follow(const Snapshot& snapshot, const Pod& pod);
  // Does a part of what follow() would do, for so many nodes at most. False: nothing was left to do in parts.
  bool prepare(const Snapshot& snapshot, const Pod& pod, std::size_t most);
  // True when follow() would judge no more than the nodes that changed.
  bool is_prepared(const Snapshot& snapshot) const;

  // Bytes of memory, about, without the base view.
  std::size_t bytes() const;

  // One attempt of a pod of the class, after follow(). During its lifetime nodes that are infeasible because of the
  // pods nominated to them are no candidates.
  class Attempt final : public FastAttempt {
   public:
    // `undeclared`: calls undeclared plugins; not used by another attempt meanwhile.
    Attempt(ClassView& view, Undeclared& undeclared, const NodeQuery& query);
    ~Attempt() override;
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    bool filter(std::size_t start, bool all) override;
    std::size_t feasible() const override { return feasible_; }
    std::size_t unasked() const override { return unasked_; }
    std::optional<Rejection> rejection() override;
    bool fits(std::size_t index) override;
    std::size_t only() const override { return scratch_.alike.front().any; }
    // Runs Filter of each TrackingPlugin for the pod itself.
    bool settle_on(std::size_t index) override;
    bool score() override;
    bool choose(Random& random, std::optional<std::size_t>& chosen) override;
    std::optional<std::size_t> likely_later() const override { return likely_later_; }
    bool tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) override;

   private:
    class ByTotal;
    bool ask_pre_filters(const PluginBits& meant);
    void skip_sums();
    bool hold_back_nominated();
    bool filter_groups();
    bool judge_all();
    bool find_one_of_each();
    void drop_empty();
    void number_alike();
    bool is_feasible(Ranks::Index index) const;
    void hold_back(Ranks::Index index, Status status);
    bool counts(const std::vector<PodPtr>& nominated) const;
    Status filter_with(const std::vector<PodPtr>& nominated, std::size_t index) const;
    bool asks_in_order() const;
    bool looks_at_one_node() const;
    void set_refused(NodeStatuses& statuses) const;
    bool pre_score();
    bool sums_score() const;
    bool normalizes() const;
    bool score_groups(std::size_t plugin);
    bool score_undeclared();
    void look_ahead(Random random, std::size_t ties, std::size_t drawn);
    bool choose_with_undeclared(Random& random, std::optional<std::size_t>& chosen);
    std::int64_t& score_at(std::size_t alike, std::size_t plugin) const;

    ClassView& view_;
    ViewScratch& scratch_;
    Undeclared& undeclared_;
    const NodeQuery& query_;
    CycleState& own_state_;
    const Pod& pod_;
    const Snapshot& snapshot_;
    const Nominator& nominator_;
    bool all_ = false;  // the scores of all nodes are needed
    bool judged_all_ = false;
    std::size_t feasible_ = 0;
    std::size_t left_ = 0;  // nodes that all declared plugins accept
    std::size_t unasked_ = 0;
    std::size_t start_ = 0;
    std::optional<std::size_t> likely_later_;
  };

 private:
  // True when the plugin's sums are kept.
  template <class Entry>
  bool sums(const Entry& entry) const {
    return entry.summing != nullptr && !undeclared_.own.test(entry.number);
  }
  bool holds(const Snapshot& snapshot) const;
  void follow_sums(const Snapshot& snapshot, const Pod& pod);
  void begin_sums(const Snapshot& snapshot, const Pod& pod);
  void follow_objects(const Snapshot& snapshot);
  void follow_pods(const Snapshot& snapshot);
  void sum_objects(const Snapshot& snapshot);
  void take_base(const Snapshot& snapshot);
  void find_base(const Snapshot& snapshot, const Pod& pod);

  const Framework& framework_;
  BaseViews& bases_;
  ViewScratch& scratch_;
  EquivalenceKeys keys_;
  Pod pod_;                     // one of the class
  PluginBits tracked_plugins_;  // TrackingPlugins that have a key for the pod
  UndeclaredPlugins undeclared_;
  // Those whose sums are kept, of the framework's lists.
  std::vector<const PointPlugin<PreFilterPlugin>*> summing_pre_filters_;
  std::vector<const PointPlugin<FilterPlugin>*> summing_filters_;
  bool sums_begun_ = false;
  CycleState state_;  // the sums, and as written by PreFilter and PreScore of other declared plugins
  Domains domains_;
  ClassSums sums_{state_, pod_, domains_};
  std::shared_ptr<BaseView> base_;  // null: before follow()
  std::int64_t base_begun_ = 0;     // of base_, when state_ took its state
  // Filter of a node with the pods nominated to it, valid while it depends on that node alone.
  struct WithNominated {
    std::int64_t generation = -1;  // of the node
    std::vector<PodPtr> nominated;
    Status status;
  };
  std::unordered_map<std::size_t, WithNominated> with_nominated_;  // by index
  // Of the snapshot's logs, what the sums have followed.
  std::int64_t pod_changes_made_ = 0;
  std::int64_t object_changes_made_ = 0;
};

}  // namespace berth
