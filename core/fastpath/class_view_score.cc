// Score of one attempt on a view, and the choice of a node.
#include <algorithm>
#include <array>
#include <limits>

#include "core/fastpath/class_view.h"

namespace berth {

// The nodes of all feasible groups by descending total.
class ClassView::Attempt::ByTotal final : public NodesByTotal {
 public:
  explicit ByTotal(const Attempt& attempt) : scratch_(attempt.scratch_) {
    auto& heap = scratch_.by_total;
    heap.clear();
    const Ranks& ranks = attempt.view_.base_->ranks();
    for (Ranks::Index index = 0; index < ranks.size(); ++index) {
      if (!attempt.is_feasible(index)) continue;
      const auto& alike = scratch_.alike[scratch_.alike_of[ranks.group_of(index)]];
      heap.push_back({alike.total + ranks.score_of(index), index});
    }
    std::make_heap(heap.begin(), heap.end(), is_lower);
  }
  bool next(std::int64_t& total, Indices& nodes) override {
    auto& heap = scratch_.by_total;
    if (heap.empty()) return false;
    total = heap.front().total;
    scratch_.top.clear();
    while (!heap.empty() && heap.front().total == total) {
      scratch_.top.push_back(heap.front().index);
      std::pop_heap(heap.begin(), heap.end(), is_lower);
      heap.pop_back();
    }
    nodes = scratch_.top;
    return true;
  }

 private:
  static bool is_lower(const ViewScratch::Ranked& a, const ViewScratch::Ranked& b) { return a.total < b.total; }
  ViewScratch& scratch_;
};

// PreScore of SummingPlugins.
bool ClassView::Attempt::pre_score() {
  CycleState& state = view_.state_;
  std::vector<AlikeNodes>& nodes = scratch_.alike_nodes;
  nodes.clear();
  for (const auto& alike : scratch_.alike) nodes.push_back({snapshot_.nodes()[alike.any], alike.any, alike.size});
  bool done = true;
  for (const auto& entry : view_.framework_.pre_scores()) {
    if (!view_.sums(entry)) continue;
    const Status status = entry.summing->pre_score_sums(state, view_.pod_, nodes, view_.domains_);
    if (status.is_skip()) {
      state.skip_score.set(entry.number);
    } else {
      state.skip_score.reset(entry.number);
      done = done && status.is_success();
    }
  }
  nodes.clear();
  return done;
}

// True when some score depends on the number of feasible nodes in each group.
bool ClassView::Attempt::sums_score() const {
  const auto& asked = view_.framework_.pre_scores();
  return std::any_of(asked.begin(), asked.end(), [this](const auto& entry) {
    return view_.sums(entry) && !view_.state_.skip_score.test(entry.number);
  });
}

// True when some score depends on which groups have a feasible node.
bool ClassView::Attempt::normalizes() const {
  const auto& scores = view_.framework_.scores();
  return std::any_of(scores.begin(), scores.end(), [this](const auto& entry) {
    return entry.normalizing != nullptr && !view_.undeclared_.own.test(entry.number) &&
           !view_.state_.skip_score.test(entry.number);
  });
}

bool ClassView::Attempt::score() {
  // Nodes of one group differ in their own scores alone.
  if (scratch_.alike.size() == 1 && !all_ && !view_.undeclared_.any()) return true;
  if (!pre_score()) return false;
  if (undeclared_.filters() && !judged_all_) {
    const bool sums = sums_score();
    if (sums ? !judge_all() : normalizes() && !find_one_of_each()) return false;
    if (scratch_.alike.empty()) return true;
    if (sums && !pre_score()) return false;
  }
  const auto& framework = view_.framework_;
  const auto& all = scratch_.alike;
  scratch_.normalizing.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) scratch_.normalizing[i].node = snapshot_.nodes()[all[i].any]->name();
  scratch_.alike_scores.assign(all.size() * framework.scores().size(), 0);
  for (std::size_t plugin = 0; plugin < framework.scores().size(); ++plugin) {
    if (!score_groups(plugin)) return false;
  }
  return !undeclared_.scores() || !(all_ || undeclared_.needs_all()) || score_undeclared();
}

// One Score plugin, for one node of each group. The keys hold the scores of plugins that depend on the node alone.
bool ClassView::Attempt::score_groups(std::size_t plugin) {
  const auto& entry = view_.framework_.scores()[plugin];
  CycleState& state = view_.state_;
  const auto is_asked = [this, &state](const auto& each) {
    return !view_.undeclared_.own.test(each.number) && !state.skip_score.test(each.number);
  };
  const bool summing = view_.sums(entry);
  if (!is_asked(entry) || (!summing && entry.normalizing == nullptr)) return true;
  std::vector<NodeScore>& scores = scratch_.normalizing;
  auto& all = scratch_.alike;
  for (std::size_t i = 0; i < all.size(); ++i) {
    scores[i].score = summing ? 0 : view_.base_->raw_score(all[i].group, plugin);
    if (!summing) continue;
    entry.count();
    const NodeInfo& node = *snapshot_.nodes()[all[i].any];
    if (!entry.plugin->score(state, pod_, node, scores[i].score).is_success()) return false;
  }
  if (entry.normalizing != nullptr && !entry.normalizing->normalize(state, pod_, scores).is_success()) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (scores[i].score < 0 || scores[i].score > ScorePlugin::kMaxScore) return false;
    score_at(i, plugin) = scores[i].score;
    all[i].total += scores[i].score * entry.weight;
  }
  return true;
}

// Undeclared Score of all feasible nodes, and each node's total.
bool ClassView::Attempt::score_undeclared() {
  const Ranks& ranks = view_.base_->ranks();
  scratch_.nodes.clear();
  scratch_.totals.clear();
  for (std::size_t turn = 0; turn < snapshot_.nodes().size(); ++turn) {
    const auto index = static_cast<Ranks::Index>((start_ + turn) % snapshot_.nodes().size());
    if (!is_feasible(index)) continue;
    scratch_.nodes.push_back(index);
    scratch_.totals.push_back(scratch_.alike[scratch_.alike_of[ranks.group_of(index)]].total + ranks.score_of(index));
  }
  return undeclared_.score_all(scratch_.nodes, scratch_.totals);
}

std::int64_t& ClassView::Attempt::score_at(std::size_t alike, std::size_t plugin) const {
  return scratch_.alike_scores[alike * view_.framework_.scores().size() + plugin];
}

bool ClassView::Attempt::choose(Random& random, std::optional<std::size_t>& chosen) {
  if (scratch_.alike.empty()) return true;
  if (undeclared_.filters() || undeclared_.scores()) return choose_with_undeclared(random, chosen);
  Ranks& ranks = view_.base_->ranks();
  std::int64_t best = std::numeric_limits<std::int64_t>::min();
  std::size_t ties = 0;
  scratch_.best.clear();
  for (const auto& alike : scratch_.alike) {
    const Ranks::Best of_group = ranks.best_of(alike.group);
    const std::int64_t total = alike.total + of_group.score;
    if (total < best) continue;
    if (total > best) {
      best = total;
      ties = 0;
      scratch_.best.clear();
    }
    ties += of_group.nodes;
    scratch_.best.push_back(alike.group);
  }
  const std::size_t drawn = ties == 1 ? 0 : random.below(ties);
  chosen = RanksDraw(ranks, scratch_.best, scratch_.draw).nth(drawn, static_cast<Ranks::Index>(start_));
  look_ahead(random, ties, drawn);
  return true;
}

// The next draws are known, for pods of this class, if each chosen node is not among the best ones any more and the
// others are: as mostly, while many nodes are alike. Where a fleet fits a processor's caches nothing is gained.
void ClassView::Attempt::look_ahead(Random random, std::size_t ties, std::size_t drawn) {
  constexpr std::size_t kManyNodes = 2048;
  constexpr std::size_t kAhead = Decision::kLikelyAfter;
  if (ties <= kAhead || snapshot_.nodes().size() < kManyNodes) return;
  std::array<std::size_t, kAhead> taken;  // in ascending order
  taken.front() = drawn;
  std::size_t place = 0;
  for (std::size_t step = 1; step <= kAhead; ++step) {
    place = random.below(ties - step);
    const auto last = taken.begin() + step;
    const auto is_below = [&place](std::size_t each) { return each <= place ? (++place, false) : true; };
    const auto above = std::find_if(taken.begin(), last, is_below);
    if (step == kAhead) break;
    std::move_backward(above, last, last + 1);
    *above = place;
  }
  likely_later_ =
      RanksDraw(view_.base_->ranks(), scratch_.best, scratch_.draw).nth(place, static_cast<Ranks::Index>(start_));
}

bool ClassView::Attempt::choose_with_undeclared(Random& random, std::optional<std::size_t>& chosen) {
  if (undeclared_.needs_all()) {
    chosen = undeclared_.draw_best(scratch_.nodes, scratch_.totals, random);
    return true;
  }
  ByTotal by_total(*this);
  if (!undeclared_.find_best(by_total, start_, random, chosen)) return false;
  if (!undeclared_.filters() || judged_all_) return true;
  unasked_ = left_ - undeclared_.asked();
  feasible_ = undeclared_.fitting();
  return true;
}

bool ClassView::Attempt::tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) {
  const auto& plugins = view_.framework_.scores();
  const auto& nodes = snapshot_.nodes();
  const auto skips = [this](const auto& entry) {
    return (view_.undeclared_.own.test(entry.number) ? own_state_ : view_.state_).skip_score.test(entry.number);
  };
  for (const auto& entry : plugins) {
    if (!skips(entry)) per_plugin.push_back({entry.name, entry.weight, {}});
  }
  for (std::size_t turn = 0; turn < nodes.size(); ++turn) {
    const std::size_t at = (start_ + turn) % nodes.size();
    const auto index = static_cast<Ranks::Index>(at);
    if (!is_feasible(index)) continue;
    const std::size_t alike = scratch_.alike_of[view_.base_->ranks().group_of(index)];
    if (!settle_on(at)) return false;
    auto mine = per_plugin.begin();
    std::int64_t total = 0;
    for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
      const auto& entry = plugins[plugin];
      if (skips(entry)) continue;
      std::int64_t score = score_at(alike, plugin);
      if (const auto* undeclared = undeclared_.scores_of(plugin)) {
        score = (*undeclared)[totals.size()].score;
      } else if (!view_.sums(entry) && entry.normalizing == nullptr) {
        if (!entry.plugin->score(view_.base_->state(), pod_, *nodes[at], score).is_success()) return false;
      }
      (mine++)->scores.push_back({nodes[at]->name(), score});
      total += score * entry.weight;
    }
    totals.push_back({nodes[at]->name(), total});
  }
  return true;
}

}  // namespace berth
