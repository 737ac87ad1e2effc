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
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/fastpath/candidates.h"
#include "core/fastpath/fleet_scan.h"
#include "core/fastpath/rejection.h"
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

  // Brings it up to date, for a pod of the class. False: pods of this class have to be decided without.
  bool follow(const Snapshot& snapshot, const Pod& pod);

  // One attempt of a pod of the class, after follow(): from here to the end of `Attempt` nodes that the pods nominated
  // to them keep away are no candidates.
  class Attempt {
   public:
    // `state`: for plugins that declare nothing.
    Attempt(ClassView& view, CycleState& state, const Pod& pod, const Snapshot& snapshot, const Nominator& nominator);
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    // PreFilter and Filter. False: something broke, or is not for here; ask the plugins themselves, which tells it as
    // it should be told. Who declares nothing is asked about node after node, beginning with the one at `start`.
    bool filter(std::size_t start);
    std::size_t feasible() const { return feasible_; }
    // After filter() that left no node. None: it cannot be told from here.
    std::optional<Rejection> rejection() const;
    // True when the node is feasible; after filter().
    bool fits(std::size_t index) const;
    // The only feasible node.
    std::size_t only() const { return view_.alike_.front().group->any(); }
    // Filter of each TrackingPlugin for the pod itself on the node it gets, which leaves in `state` what Reserve needs.
    // False as above.
    bool settle_on(std::size_t index) const;
    // PreScore and Score. False as above.
    bool score();
    // Any of the best, each as likely; counted from the node at `start` on.
    std::size_t choose(Random& random, std::size_t start) const;
    // As Framework::run_score() tells it, beginning with the node at `start`. False as above.
    bool tell(std::size_t start, std::vector<Framework::PluginScores>& per_plugin,
              std::vector<NodeScore>& totals) const;

   private:
    bool ask_pre_filters(const PluginBits& meant);
    bool ask_undeclared();
    void skip_sums();
    bool hold_back_nominated();
    bool filter_groups();
    bool is_fit(const Candidates::Group* group) const;
    bool filter_nodes(std::size_t start);
    void hold_back(Candidates::Index index, Status status);
    bool counts(const std::vector<std::shared_ptr<const Pod>>& nominated) const;
    Status filter_with(const std::vector<std::shared_ptr<const Pod>>& nominated, std::size_t index) const;
    bool asks_in_order() const;
    bool looks_at_one_node() const;
    bool score_groups(std::size_t plugin);
    std::int64_t& score_at(std::size_t alike, std::size_t plugin) const;

    ClassView& view_;
    CycleState& own_state_;
    const Pod& pod_;
    const Snapshot& snapshot_;
    const Nominator& nominator_;
    bool asks_nodes_ = false;  // somebody who declares nothing did not skip
    std::size_t feasible_ = 0;
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

// The views of the classes used last, at most kClasses. The same snapshot always. A class gets a view when the second
// pod of it comes soon enough: many never see one.
class ClassViews {
 public:
  static constexpr std::size_t kClasses = 8;
  static constexpr std::size_t kSeen = 16;
  // A pod, and what besides it tells its class.
  struct ClassOf {
    const Framework& framework;
    const Pod& pod;
    bool with_labels = false;  // somebody reads them
    ClassView::EquivalenceKeys keys;
  };
  static ClassOf class_of(const Framework& framework, const Pod& pod, const Snapshot& snapshot);
  // The pod, without its manifest, when no other of its class was asked about lately; null otherwise.
  std::shared_ptr<const Pod> first_of_class(const ClassOf& of_pod);
  FleetScan& scan(const Framework& framework) { return scans_.try_emplace(&framework, framework).first->second; }
  // Up to date; null: the pod has to be decided without.
  ClassView* of(const ClassOf& of_pod, const Snapshot& snapshot);

 private:
  struct Seen {
    const Framework* framework = nullptr;
    std::shared_ptr<const Pod> pod;
  };
  std::vector<std::unique_ptr<ClassView>> views_;  // the one used last in front
  std::deque<Seen> seen_;                          // the last in front
  std::map<const Framework*, FleetScan> scans_;
};

}  // namespace berth
