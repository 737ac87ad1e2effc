// FleetScan: the decision about the first pod of a class. Every node is asked about, plugin after plugin over all nodes
// at once; there is nothing to keep, as long as no second pod of the class comes, but the answers that a plugin gave
// for pods which it does not tell from this one (Plugin::tells_apart): they are asked for again of nodes that changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/cache/cache.h"
#include "core/fastpath/attempt.h"
#include "core/framework/framework.h"
#include "core/scheduler/node_evaluator.h"

namespace berth {

// What one plugin answered about every node, for the last pods that it told apart.
template <class Value>
class NodeAnswers {
 public:
  using Values = std::vector<Value>;  // by index
  struct Kept {
    std::shared_ptr<const Pod> pod;
    Values values;
    // All are equal to the first, which spares many a look at each; false: some may differ.
    bool uniform = false;
    std::int64_t changes_made = 0;    // of the snapshot that they are of
    std::int64_t images_changed = 0;  // the same
  };
  static constexpr std::size_t kKept = 4;
  // Those for this pod, the last used in front; new ones are empty and of no snapshot yet.
  Kept& of(const Plugin& plugin, const std::shared_ptr<const Pod>& pod);

 private:
  std::vector<std::unique_ptr<Kept>> kept_;
};

class FleetScan {
 public:
  using FilterAnswers = NodeAnswers<std::uint8_t>;  // 1: rejected
  using ScoreAnswers = NodeAnswers<std::int32_t>;

  explicit FleetScan(const Framework& framework);

  // One pod. What is kept of its answers holds `pod`, which is without its manifest.
  class Attempt final : public FastAttempt {
   public:
    Attempt(FleetScan& scan, const NodeQuery& query, std::shared_ptr<const Pod> pod);
    bool filter(std::size_t start, bool all) override;
    std::size_t feasible() const override { return feasible_; }
    std::size_t unasked() const override { return 0; }
    std::optional<Rejection> rejection() override;
    bool fits(std::size_t index) override { return is_feasible(index); }
    std::size_t only() const override;
    bool settle_on(std::size_t) override { return true; }
    bool score() override;
    bool choose(Random& random, std::optional<std::size_t>& chosen) override;
    bool tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) override;

   private:
    struct Asked {
      const Framework::Named<FilterPlugin>* entry = nullptr;
      const FilterAnswers::Kept* rejects = nullptr;
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
    bool filter_nominated();
    bool pre_score();
    bool normalize(Scored& scored) const;
    FleetScan& scan_;
    CycleState& state_;
    const std::shared_ptr<const Pod> pod_;
    const Snapshot& snapshot_;
    const Nominator& nominator_;
    std::vector<Asked> asked_;
    std::vector<Scored> scored_;
    std::map<std::size_t, Status> beside_nominated_;  // by index: rejected, with the pods nominated there
    std::size_t feasible_ = 0;
    std::size_t start_ = 0;
  };

 private:
  std::string_view why_not_for(const Pod& pod) const;
  // Null: something broke.
  const FilterAnswers::Kept* ask_filter(std::size_t plugin, CycleState& state, const std::shared_ptr<const Pod>& pod,
                                        const Snapshot& snapshot);
  const ScoreAnswers::Kept* ask_score(std::size_t plugin, CycleState& state, const std::shared_ptr<const Pod>& pod,
                                      const Snapshot& snapshot);

  const Framework& framework_;
  bool totals_fit_ = false;              // in 32 bits
  std::vector<FilterAnswers> filtered_;  // by plugin
  std::vector<ScoreAnswers> scored_;
  std::vector<std::uint8_t> rejected_;  // by index, of the attempt
  std::vector<std::int32_t> totals_;    // the same, but for what is added to all
  std::int64_t of_all_ = 0;
};

// A scan for each profile.
class FleetScans final : public NodeEvaluator {
 public:
  Evaluation evaluate(const NodeQuery& query) override;

 private:
  std::map<const Framework*, FleetScan> scans_;
};

}  // namespace berth
