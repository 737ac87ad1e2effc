// FleetScan: the decision about the first pod of a class. Every node is asked about, plugin after plugin over all nodes
// at once; there is nothing to keep, as long as no second pod of the class comes, but the answers that a plugin gave
// for pods which it does not tell from this one (Plugin::tells_apart): they are asked for again of nodes that changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cache/cache.h"
#include "core/fastpath/rejection.h"
#include "core/framework/framework.h"
#include "core/random.h"

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

  // One pod. `state`: its own. Used from top to bottom, as ClassView::Attempt.
  class Attempt {
   public:
    Attempt(FleetScan& scan, CycleState& state, std::shared_ptr<const Pod> pod, const Snapshot& snapshot,
            const Nominator& nominator);
    // PreFilter and Filter. False: something broke, or is not for here.
    bool filter(std::size_t start);
    std::size_t feasible() const { return feasible_; }
    bool fits(std::size_t index) const { return scan_.rejected_[index] == 0; }
    std::size_t only() const;
    bool settle_on(std::size_t) const { return true; }
    std::optional<Rejection> rejection();
    bool score();
    std::size_t choose(Random& random, std::size_t start) const;
    bool tell(std::size_t start, std::vector<Framework::PluginScores>& per_plugin,
              std::vector<NodeScore>& totals) const;

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
  };

 private:
  bool is_for(const Pod& pod) const;
  // Null: something broke.
  const FilterAnswers::Kept* ask_filter(std::size_t plugin, CycleState& state, const std::shared_ptr<const Pod>& pod,
                                        const Snapshot& snapshot);
  const ScoreAnswers::Kept* ask_score(std::size_t plugin, CycleState& state, const std::shared_ptr<const Pod>& pod,
                                      const Snapshot& snapshot);

  const Framework& framework_;
  bool totals_have_room_ = false;        // in 32 bits
  std::vector<FilterAnswers> filtered_;  // by plugin
  std::vector<ScoreAnswers> scored_;
  std::vector<std::uint8_t> rejected_;  // by index, of the attempt
  std::vector<std::int32_t> totals_;    // the same, but for what is added to all
  std::int64_t of_all_ = 0;
};

}  // namespace berth
