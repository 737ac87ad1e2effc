// ClassView: the feasibility and scores of all nodes for one class of pods, kept between pods. A decision updates it
// for the nodes that changed, and compares groups of nodes instead of nodes.
//
//   node changed ─▶ sums of SummingPlugins ─▶ Filter of the others ─▶ group (its traits) and own score ─▶ Ranks
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
#include "core/fastpath/class_sums.h"
#include "core/fastpath/object_answers.h"
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

  // `answers`, `scratch`: shared with other views of the framework; they outlive it.
  ClassView(const Framework& framework, const Pod& pod, EquivalenceKeys keys, ObjectAnswers& answers,
            ViewScratch& scratch);
  bool is_of(const Framework& framework, const Pod& pod, const EquivalenceKeys& keys, bool with_labels) const;

  // Updates the view for a pod of the class. Not empty: why the plain path has to decide for the pod.
  std::string_view follow(const Snapshot& snapshot, const Pod& pod);

  // Bytes of memory, about.
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
    bool counts(const std::vector<std::shared_ptr<const Pod>>& nominated) const;
    Status filter_with(const std::vector<std::shared_ptr<const Pod>>& nominated, std::size_t index) const;
    bool asks_in_order() const;
    bool looks_at_one_node() const;
    void set_refused(NodeStatuses& statuses) const;
    bool pre_score();
    bool sums_score() const;
    bool normalizes() const;
    bool score_groups(std::size_t plugin);
    bool score_undeclared();
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
  };

 private:
  // True when the plugin's sums are kept.
  template <class Entry>
  bool sums(const Entry& entry) const {
    return entry.summing != nullptr && !undeclared_.own.test(entry.number);
  }
  // A plugin that reads nodes' objects alone, and what it says.
  struct OfObjects {
    std::shared_ptr<ObjectAnswer> answer;  // null: does not take part, or reads more
    bool was_uniform = false;              // when the view was begun
    std::int32_t was_same = 0;
  };
  bool note_tracked_changes(const Snapshot& snapshot);
  bool begin(const Snapshot& snapshot);
  bool ask_class(const Snapshot& snapshot);
  bool take_object_answers(const Snapshot& snapshot);
  bool follow_object_answers(const Snapshot& snapshot);
  bool note_shape();
  bool holds(const Snapshot& snapshot) const;
  bool catch_up(const Snapshot& snapshot);
  void follow_objects(const Snapshot& snapshot);
  void follow_pods(const Snapshot& snapshot);
  void sum_objects(const Snapshot& snapshot);
  bool judge_changed(std::span<const Ranks::Index> indices, const Snapshot& snapshot);
  bool regroup(const Snapshot& snapshot);
  template <class Entry>
  bool filters(const Entry& entry) const {
    return !sums(entry) && !state_.skip_filter.test(entry.number) && !undeclared_.filter.test(entry.number);
  }
  template <class Entry>
  bool scores(const Entry& entry) const {
    return !sums(entry) && !state_.skip_score.test(entry.number) && !undeclared_.own.test(entry.number);
  }
  bool fail(std::string_view why) {
    why_not_begun_ = why;
    return false;
  }
  bool judge(const Rows& rows, const Snapshot& snapshot);
  bool rank(const Rows& rows, const Snapshot& snapshot);
  bool keep_accepted();
  bool filter_rows(const Rows& rows, const Snapshot& snapshot);
  bool score_rows(const Rows& rows, const Snapshot& snapshot);
  bool ask_scores(std::size_t place, const Rows& rows, const Snapshot& snapshot, std::vector<std::int32_t>& scores);
  bool place_rows(const Rows& rows, const Snapshot& snapshot);
  // What the own scores of a group's nodes are, besides their ranks.
  std::int64_t beyond_ranks(Ranks::Number group) const;
  Ranks::Number group_of(std::size_t row, std::size_t index, const Snapshot& snapshot);
  bool group_all(const Snapshot& snapshot);
  bool number_groups(std::size_t count, const Snapshot& snapshot);
  // The status of the first plugin that rejects the node; success when none does. SummingPlugins are not asked.
  Status why_rejected(std::size_t index, const Snapshot& snapshot);
  bool tell_why(const Rows& rows, const Snapshot& snapshot);

  const Framework& framework_;
  ObjectAnswers& answers_;
  ViewScratch& scratch_;
  EquivalenceKeys keys_;
  Pod pod_;                     // one of the class
  PluginBits tracked_plugins_;  // TrackingPlugins that have a key for the pod
  UndeclaredPlugins undeclared_;
  bool begun_ = false;
  std::string_view why_not_begun_;
  CycleState state_;  // as written by PreFilter and PreScore of declared plugins
  Domains domains_;
  ClassSums sums_{state_, pod_, domains_};
  std::vector<OfObjects> object_filters_, object_scores_;  // by place in the framework's list
  std::int64_t most_own_ = 0;                              // the highest sum of own scores
  std::size_t normalizing_ = 0;                            // plugins whose scores are in the groups' keys
  bool one_group_ = false;                                 // all nodes have the same traits
  bool groups_by_object_ = false;  // the traits of a node without pods that count follow from its object
  Ranks ranks_;
  bool tells_why_ = false;
  NodeStatuses rejected_;  // while tells_why_: the nodes that are not ranked
  // Filter of a node with the pods nominated to it, valid while it depends on that node alone.
  struct WithNominated {
    std::int64_t generation = -1;  // of the node
    std::vector<std::shared_ptr<const Pod>> nominated;
    Status status;
  };
  std::unordered_map<std::size_t, WithNominated> with_nominated_;  // by index
  // Of the snapshot's logs, what the view has followed.
  std::int64_t changes_made_ = 0;
  std::int64_t pod_changes_made_ = 0;
  std::int64_t object_changes_made_ = 0;
};

}  // namespace berth
