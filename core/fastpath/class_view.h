// ClassView: the fleet as one class of pods sees it, kept from pod to pod. A decision brings it up to date with the
// nodes that changed, and compares groups of nodes instead of nodes.
//
//   node changed ─▶ sums of SummingPlugins ─▶ Filter of the others ─▶ group (its traits) and own score ─▶ Candidates
//   object changed (TrackingPlugins tell of it) ─▶ as if those nodes had changed
//   decision     ─▶ per group: Filter by sums ─▶ per node: Filter of those who declare nothing, if any
//                ─▶ per group: Score, normalize ─▶ the best own scores of the best groups
//
// Every verdict and score comes from the plugins' own filter(), score() and normalize(), asked of a node that changed
// or of one node of a group. The decision is that of schedule_pod() without a view, the seeded choice included.
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
#include "core/framework/framework.h"
#include "core/framework/node_statuses.h"
#include "core/random.h"

namespace berth {

class ClassView {
 public:
  // What each TrackingPlugin of pods with objects makes of the pod, by plugin.
  using EquivalenceKeys = std::map<std::string, std::optional<std::string>>;
  static EquivalenceKeys equivalence_keys_of(const Framework& framework, const Pod& pod);

  ClassView(const Framework& framework, const Pod& pod, EquivalenceKeys keys);
  bool is_of(const Framework& framework, const Pod& pod, const EquivalenceKeys& keys, bool with_labels) const;

  // Brings it up to date, for a pod of the class. Not empty: why the pod has to be decided without.
  std::string_view follow(const Snapshot& snapshot, const Pod& pod);

  // One attempt of a pod of the class, after follow(): from here to the end of `Attempt` nodes that the pods nominated
  // to them keep away are no candidates.
  class Attempt final : public FastAttempt {
   public:
    Attempt(ClassView& view, const NodeQuery& query);
    ~Attempt() override;
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    bool filter(std::size_t start, bool all) override;
    std::size_t feasible() const override { return feasible_; }
    std::size_t unasked() const override { return 0; }
    std::optional<Rejection> rejection() override;
    bool fits(std::size_t index) override;
    std::size_t only() const override { return view_.alike_.front().group->any(); }
    // Filter of each TrackingPlugin for the pod itself.
    bool settle_on(std::size_t index) override;
    bool score() override;
    bool choose(Random& random, std::optional<std::size_t>& chosen) override;
    bool tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) override;

   private:
    bool ask_pre_filters(const PluginBits& meant);
    bool ask_undeclared();
    void skip_sums();
    bool hold_back_nominated();
    bool filter_groups();
    bool is_fit(const Candidates::Group* group) const;
    bool filter_nodes();
    void hold_back(Candidates::Index index, Status status);
    bool counts(const std::vector<std::shared_ptr<const Pod>>& nominated) const;
    Status filter_with(const std::vector<std::shared_ptr<const Pod>>& nominated, std::size_t index) const;
    bool asks_in_order() const;
    bool looks_at_one_node() const;
    bool score_groups(std::size_t plugin);
    std::int64_t& score_at(std::size_t alike, std::size_t plugin) const;

    ClassView& view_;
    CycleState& own_state_;  // for plugins that declare nothing
    const Pod& pod_;
    const Snapshot& snapshot_;
    const Nominator& nominator_;
    bool asks_nodes_ = false;  // somebody who declares nothing did not skip
    std::size_t feasible_ = 0;
    std::size_t start_ = 0;
  };

 private:
  bool find_undeclared();
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
  Pod pod_;                     // of the class
  PluginBits undeclared_;       // at PreFilter or Filter
  PluginBits tracked_plugins_;  // they follow the pod's objects
  bool usable_ = true;
  bool begun_ = false;
  CycleState state_;  // of declared plugins, as PreFilter and PreScore write it
  Domains domains_;
  Candidates candidates_;
  NodeStatuses rejected_;  // the other nodes, each judged alone
  // Filter of a node with the pods that are nominated to it, where it looks at that node alone.
  struct WithNominated {
    std::int64_t generation = -1;  // of the node
    std::vector<std::shared_ptr<const Pod>> nominated;
    Status status;
  };
  std::unordered_map<std::size_t, WithNominated> with_nominated_;  // by index
  std::int64_t images_changed_ = -1;
  std::int64_t changes_made_ = 0;
  // A group of which some node is feasible.
  struct Alike {
    const Candidates::Key* key = nullptr;
    const Candidates::Group* group = nullptr;
    std::int64_t total = 0;  // but for the nodes' own scores
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
  // Kept to spare allocations. Of an attempt:
  std::vector<HeldBack> held_back_;
  std::vector<Refused> refused_;               // by sums
  std::vector<const Candidates::Group*> fit_;  // sorted
  std::vector<Alike> alike_;
  std::vector<AlikeNodes> alike_nodes_;     // empty but while it scores
  std::vector<std::int64_t> alike_scores_;  // normalized, by Alike and Score plugin
  std::vector<const Candidates::Indices*> best_;
  // While it catches up:
  std::vector<std::size_t> changed_;
  std::vector<std::size_t> tracked_;      // indices
  std::vector<std::uint8_t> is_changed_;  // by index
  Candidates::Key key_;
  std::vector<NodeScore> scratch_;
};

}  // namespace berth
