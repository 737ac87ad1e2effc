// FleetScan: decides for the first pod of a class by running each plugin on all nodes at once. It keeps the results of
// each plugin for pods that the plugin does not distinguish (tells_apart()) and updates them for nodes that changed.
// Undeclared plugins run last, on the nodes with the highest totals (undeclared.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/cache/cache.h"
#include "core/fastpath/attempt.h"
#include "core/fastpath/undeclared.h"
#include "core/framework/framework.h"
#include "core/scheduler/node_evaluator.h"

namespace berth {

// The results of one plugin for every node, for the last pods that it distinguished.
template <class Value>
class NodeAnswers {
 public:
  using Values = std::vector<Value>;  // by index
  struct Kept {
    std::shared_ptr<const Pod> pod;
    Values values;
    // All are equal, so that they need not be read one by one; false: they may differ.
    bool uniform = false;
    std::int64_t changes_made = 0;  // of the snapshot that they are of
  };
  static constexpr std::size_t kKept = 4;
  // The results for this pod, which become the first ones; new ones are empty.
  Kept& of(const Plugin& plugin, const std::shared_ptr<const Pod>& pod);

 private:
  std::vector<std::unique_ptr<Kept>> kept_;
};

class FleetScan {
 public:
  using FilterAnswers = NodeAnswers<std::uint8_t>;  // 1: rejected
  using ScoreAnswers = NodeAnswers<std::int32_t>;

  explicit FleetScan(const Framework& framework);

  // One pod. `kept_pod` is the pod without its manifest, kept with the results.
  class Attempt final : public FastAttempt {
   public:
    Attempt(FleetScan& scan, const NodeQuery& query, std::shared_ptr<const Pod> kept_pod);
    bool filter(std::size_t start, bool all) override;
    std::size_t feasible() const override { return feasible_; }
    std::size_t unasked() const override { return unasked_; }
    std::optional<Rejection> rejection() override;
    bool fits(std::size_t index) override;
    std::size_t only() const override;
    bool settle_on(std::size_t) override { return true; }
    bool score() override;
    bool choose(Random& random, std::optional<std::size_t>& chosen) override;
    bool tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) override;

   private:
    class ByTotal;
    struct Asked {
      const Framework::Named<FilterPlugin>* entry = nullptr;
      const FilterAnswers::Kept* rejects = nullptr;  // null: undeclared
    };
    struct Scored {
      const Framework::Named<ScorePlugin>* entry = nullptr;
      const ScoreAnswers::Kept* scores = nullptr;
      std::map<std::int64_t, std::int64_t> normalized;  // empty: they stay as they are
      std::int64_t of(std::size_t index) const;
    };
    bool is_feasible(std::size_t index) const { return scan_.rejected_[index] == 0; }
    bool add_to_totals(const Scored& scored) const;
    bool pre_filter();
    bool filter_declared();
    bool filter_nominated();
    bool judge_all();
    std::optional<Status> why_rejected(std::size_t index);
    bool pre_score();
    bool ask_scores();
    bool normalize(Scored& scored) const;
    bool score_undeclared();
    FleetScan& scan_;
    const NodeQuery& query_;
    CycleState& state_;
    const Pod& pod_;
    const std::shared_ptr<const Pod> kept_pod_;
    const Snapshot& snapshot_;
    const Nominator& nominator_;
    UndeclaredPlugins undeclared_;
    std::vector<Asked> asked_;
    std::vector<Scored> scored_;
    std::map<std::size_t, Status> beside_nominated_;  // by index: rejected with the pods nominated there
    bool all_ = false;                                // the scores of all nodes are needed
    bool judged_all_ = false;
    std::size_t feasible_ = 0;
    std::size_t unasked_ = 0;
    std::size_t start_ = 0;
  };

 private:
  // Null: the plugin failed.
  const FilterAnswers::Kept* ask_filter(std::size_t plugin, const NodeQuery& query,
                                        const std::shared_ptr<const Pod>& kept_pod);
  const ScoreAnswers::Kept* ask_score(std::size_t plugin, const NodeQuery& query,
                                      const std::shared_ptr<const Pod>& kept_pod);

  const Framework& framework_;
  bool totals_fit_ = false;              // in 32 bits
  std::vector<FilterAnswers> filtered_;  // by plugin
  std::vector<ScoreAnswers> scored_;
  std::vector<std::uint8_t> rejected_;  // by index, of the attempt
  std::vector<std::int32_t> totals_;    // by index, without of_all_
  std::int64_t of_all_ = 0;
  Undeclared undeclared_;
  // All feasible nodes and their totals, when undeclared plugins score all of them.
  Undeclared::Indices nodes_;
  std::vector<std::int64_t> sums_;
  Undeclared::Indices by_total_, top_;  // of ByTotal
};

// A scan for each profile.
class FleetScans final : public NodeEvaluator {
 public:
  Evaluation evaluate(const NodeQuery& query) override;

 private:
  std::map<const Framework*, FleetScan> scans_;
};

}  // namespace berth
