// Score of one attempt on a view, and the choice of a node.
#include <algorithm>

#include "core/fastpath/class_view.h"

namespace berth {

// The nodes of all feasible groups by descending total.
class ClassView::Attempt::ByTotal final : public NodesByTotal {
 public:
  explicit ByTotal(ClassView& view) : heap_(view.by_total_) {
    heap_.clear();
    for (const Alike& each : view.alike_) push(each.total, each.group->by_score.begin(), each.group->by_score.end());
  }
  bool next(std::int64_t& total, Indices& nodes) override {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), is_lower);
    const Bucket top = heap_.back();
    heap_.pop_back();
    total = top.total();
    nodes = {top.bucket->second.data(), top.bucket->second.size()};
    push(top.of_group, std::next(top.bucket), top.end);
    return true;
  }

 private:
  static bool is_lower(const Bucket& a, const Bucket& b) { return a.total() < b.total(); }
  void push(std::int64_t of_group, Candidates::Buckets::const_iterator bucket,
            Candidates::Buckets::const_iterator end) {
    if (bucket == end) return;
    heap_.push_back({of_group, bucket, end});
    std::push_heap(heap_.begin(), heap_.end(), is_lower);
  }
  std::vector<Bucket>& heap_;
};

// PreScore of SummingPlugins.
bool ClassView::Attempt::pre_score() {
  CycleState& state = view_.state_;
  std::vector<AlikeNodes>& nodes = view_.alike_nodes_;
  nodes.clear();
  for (const Alike& alike : view_.alike_) nodes.push_back({snapshot_.nodes()[alike.any], alike.size});
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
  if (!pre_score()) return false;
  if (undeclared_.filters() && !judged_all_) {
    const bool sums = sums_score();
    if (sums ? !judge_all() : normalizes() && !find_one_of_each()) return false;
    if (view_.alike_.empty()) return true;
    if (sums && !pre_score()) return false;
  }
  const auto& framework = view_.framework_;
  const std::vector<Alike>& all = view_.alike_;
  view_.scratch_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) view_.scratch_[i].node = snapshot_.nodes()[all[i].any]->name();
  view_.alike_scores_.assign(all.size() * framework.scores().size(), 0);
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
  std::size_t in_key = 0;
  for (std::size_t i = 0; i < plugin; ++i) {
    const auto& other = view_.framework_.scores()[i];
    if (is_asked(other) && !view_.sums(other) && other.normalizing != nullptr) ++in_key;
  }
  std::vector<NodeScore>& scores = view_.scratch_;
  std::vector<Alike>& all = view_.alike_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    scores[i].score = summing ? 0 : (*all[i].key)[in_key];
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
  const auto& candidates = view_.candidates_;
  view_.nodes_.clear();
  view_.totals_.clear();
  for (std::size_t turn = 0; turn < snapshot_.nodes().size(); ++turn) {
    const auto index = static_cast<Candidates::Index>((start_ + turn) % snapshot_.nodes().size());
    if (!is_feasible(index)) continue;
    view_.nodes_.push_back(index);
    view_.totals_.push_back(view_.alike_[candidates.group_of(index)->number].total + candidates.score_of(index));
  }
  return undeclared_.score_all(view_.nodes_, view_.totals_);
}

std::int64_t& ClassView::Attempt::score_at(std::size_t alike, std::size_t plugin) const {
  return view_.alike_scores_[alike * view_.framework_.scores().size() + plugin];
}

bool ClassView::Attempt::choose(Random& random, std::optional<std::size_t>& chosen) {
  if (view_.alike_.empty()) return true;
  if (undeclared_.filters() || undeclared_.scores()) return choose_with_undeclared(random, chosen);
  const auto best_of = [](const Alike& alike) { return alike.total + alike.group->by_score.begin()->first; };
  std::int64_t best = best_of(view_.alike_.front());
  for (const Alike& alike : view_.alike_) best = std::max(best, best_of(alike));
  std::vector<const Candidates::Indices*>& equal = view_.best_;
  equal.clear();
  std::size_t ties = 0;
  for (const Alike& alike : view_.alike_) {
    if (best_of(alike) != best) continue;
    equal.push_back(&alike.group->by_score.begin()->second);
    ties += equal.back()->size();
  }
  const std::size_t drawn = ties == 1 ? 0 : random.below(ties);
  chosen = nth_index(equal, drawn, static_cast<Candidates::Index>(start_));
  return true;
}

bool ClassView::Attempt::choose_with_undeclared(Random& random, std::optional<std::size_t>& chosen) {
  if (undeclared_.needs_all()) {
    chosen = undeclared_.draw_best(view_.nodes_, view_.totals_, random);
    return true;
  }
  ByTotal by_total(view_);
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
    const auto index = static_cast<Candidates::Index>(at);
    if (!is_feasible(index)) continue;
    const std::size_t alike = view_.candidates_.group_of(index)->number;
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
        if (!entry.plugin->score(view_.state_, pod_, *nodes[at], score).is_success()) return false;
      }
      (mine++)->scores.push_back({nodes[at]->name(), score});
      total += score * entry.weight;
    }
    totals.push_back({nodes[at]->name(), total});
  }
  return true;
}

}  // namespace berth
