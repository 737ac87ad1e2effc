// ClassView: the feasibility and scores of all nodes for one class of pods, kept between pods. A decision updates it
// for the nodes that changed, and compares groups of nodes instead of nodes.
//
//   node changed ─▶ sums of SummingPlugins ─▶ Filter of the others ─▶ group (its traits) and own score ─▶ Candidates
//   object changed ─▶ TrackingPlugins name the nodes ─▶ as if those nodes had changed
//   decision     ─▶ per group: Filter by sums ─▶ per group: Score, normalize ─▶ the best own scores of the best groups
//                   undeclared plugins, if any: on nodes by descending total, until the best one is certain
//
// Every result comes from the plugins' own filter(), score() and normalize(), called for a node that changed or for one
// node of a group. The decision equals that of schedule_pod() without an evaluator, the seeded draw included.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/fastpath/attempt.h"
#include "core/fastpath/candidates.h"
#include "core/fastpath/undeclared.h"
#include "core/framework/framework.h"
#include "core/framework/node_statuses.h"
#include "core/random.h"

namespace berth {

class ClassView {
 public:
  // The pod's keys by plugin, for each TrackingPlugin that reads objects for it.
  using EquivalenceKeys = std::map<std::string, std::optional<std::string>>;
  static EquivalenceKeys equivalence_keys_of(const Framework& framework, const Pod& pod);

  ClassView(const Framework& framework, const Pod& pod, EquivalenceKeys keys);
  bool is_of(const Framework& framework, const Pod& pod, const EquivalenceKeys& keys, bool with_labels) const;

  // Updates the view for a pod of the class. Not empty: why the plain path has to decide for the pod.
  std::string_view follow(const Snapshot& snapshot, const Pod& pod);

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
    std::size_t only() const override { return view_.alike_.front().any; }
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
    bool is_feasible(Candidates::Index index) const;
    void hold_back(Candidates::Index index, Status status);
    bool counts(const std::vector<std::shared_ptr<const Pod>>& nominated) const;
    Status filter_with(const std::vector<std::shared_ptr<const Pod>>& nominated, std::size_t index) const;
    bool asks_in_order() const;
    bool looks_at_one_node() const;
    bool pre_score();
    bool sums_score() const;
    bool normalizes() const;
    bool score_groups(std::size_t plugin);
    bool score_undeclared();
    bool choose_with_undeclared(Random& random, std::optional<std::size_t>& chosen);
    std::int64_t& score_at(std::size_t alike, std::size_t plugin) const;

    ClassView& view_;
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
  bool note_tracked_changes(const Snapshot& snapshot);
  void follow_move(const Snapshot::Move& move);
  void follow_last(const Snapshot::Change& change);
  bool begin(const Snapshot& snapshot);
  bool ask_class(const Snapshot& snapshot);
  void sum(const NodeInfo& node, std::int64_t times);
  bool catch_up(const Snapshot& snapshot);
  bool regroup(const Snapshot& snapshot);
  bool judge(Candidates::Index index, const Snapshot& snapshot);

  const Framework& framework_;
  EquivalenceKeys keys_;
  Pod pod_;                     // one of the class
  PluginBits tracked_plugins_;  // TrackingPlugins that have a key for the pod
  UndeclaredPlugins undeclared_;
  std::vector<SummingPlugin*> summing_;  // declared
  bool begun_ = false;
  std::string_view why_not_begun_;
  CycleState state_;  // as written by PreFilter and PreScore of declared plugins
  Domains domains_;
  Candidates candidates_;
  NodeStatuses rejected_;  // the nodes that are no candidates
  // Filter of a node with the pods nominated to it, valid while it depends on that node alone.
  struct WithNominated {
    std::int64_t generation = -1;  // of the node
    std::vector<std::shared_ptr<const Pod>> nominated;
    Status status;
  };
  std::unordered_map<std::size_t, WithNominated> with_nominated_;  // by index
  std::int64_t changes_made_ = 0;
  // A group with a feasible node.
  struct Alike {
    const Candidates::Key* key = nullptr;
    Candidates::Group* group = nullptr;
    std::size_t size = 0;       // feasible nodes, as far as is known
    Candidates::Index any = 0;  // one of them
    std::int64_t total = 0;     // without the nodes' own scores
  };
  struct HeldBack {
    Candidates::Index index = 0;
    Candidates::Key key;
    std::int64_t score = 0;
    Status status;
  };
  struct Refused {
    const Candidates::Group* group = nullptr;
    Status status;
  };
  // Kept to avoid allocations. Of an attempt:
  std::vector<HeldBack> held_back_;
  std::vector<Refused> refused_;            // by SummingPlugins
  std::vector<Alike> alike_;                // a group's number is its index here; kNone: not feasible
  std::vector<AlikeNodes> alike_nodes_;     // empty except during PreScore
  std::vector<std::int64_t> alike_scores_;  // normalized, by Alike and Score plugin
  std::vector<const Candidates::Indices*> best_;
  // All feasible nodes and their totals, when undeclared plugins score all of them.
  Undeclared::Indices nodes_;
  std::vector<std::int64_t> totals_;
  // Nodes with equal totals: one bucket of a group, and the end of the group's buckets.
  struct Bucket {
    std::int64_t of_group = 0;
    Candidates::Buckets::const_iterator bucket, end;
    std::int64_t total() const { return of_group + bucket->first; }
  };
  std::vector<Bucket> by_total_;
  // Of an update:
  std::vector<std::size_t> changed_;
  std::vector<std::size_t> tracked_;      // indices
  std::vector<std::uint8_t> is_changed_;  // by index
  Candidates::Key key_;
  std::vector<NodeScore> scratch_;
};

}  // namespace berth
