// One attempt of a scan.
#include <algorithm>
#include <functional>

#include "core/api/pod.h"
#include "core/fastpath/fleet_scan.h"

namespace berth {

namespace {

// Loops over all nodes, by index, without branches: the compiler vectorises them.

std::size_t sum_of(const std::vector<std::uint8_t>& rejected) {
  std::uint32_t sum = 0;
  for (const std::uint8_t each : rejected) sum += each;
  return sum;
}

// The totals of rejected nodes are meaningless. False: the score of another node is out of range.
bool add_in_range(const std::vector<std::int32_t>& scores, const std::vector<std::uint8_t>& rejected,
                  std::int32_t weight, std::vector<std::int32_t>& totals) {
  constexpr std::uint32_t kMost = ScorePlugin::kMaxScore;
  std::int32_t* total = totals.data();
  std::uint32_t wrong = 0;
  for (std::size_t index = 0; index < totals.size(); ++index) {
    const auto score = static_cast<std::uint32_t>(scores[index]);
    const std::uint32_t in_range = score > kMost ? 0 : score;
    const std::uint32_t fits = rejected[index] ^ 1u;
    wrong |= (score ^ in_range) & (0 - fits);
    total[index] += static_cast<std::int32_t>(in_range) * weight;
  }
  return wrong == 0;
}

struct Best {
  std::int32_t total = 0;
  std::size_t ties = 0;
};

Best best_of(const std::vector<std::int32_t>& totals, const std::vector<std::uint8_t>& rejected) {
  std::int32_t best = 0;
  for (std::size_t index = 0; index < totals.size(); ++index) {
    const std::int32_t total = totals[index] & (rejected[index] - 1);
    best = total > best ? total : best;
  }
  std::uint32_t ties = 0;
  for (std::size_t index = 0; index < totals.size(); ++index) {
    ties += (totals[index] == best ? 1u : 0u) & (rejected[index] ^ 1u);
  }
  return {best, ties};
}

}  // namespace

// The nodes that are not rejected, by descending total.
class FleetScan::Attempt::ByTotal final : public NodesByTotal {
 public:
  explicit ByTotal(FleetScan& scan) : scan_(scan), heap_(scan.by_total_) {
    heap_.clear();
    for (std::size_t index = 0; index < scan.totals_.size(); ++index) {
      if (scan.rejected_[index] == 0) heap_.push_back(static_cast<std::uint32_t>(index));
    }
    std::make_heap(heap_.begin(), heap_.end(), is_lower_);
  }
  bool next(std::int64_t& total, Indices& nodes) override {
    if (heap_.empty()) return false;
    const std::int32_t top = scan_.totals_[heap_.front()];
    total = top + scan_.of_all_;
    scan_.top_.clear();
    while (!heap_.empty() && scan_.totals_[heap_.front()] == top) {
      scan_.top_.push_back(heap_.front());
      std::pop_heap(heap_.begin(), heap_.end(), is_lower_);
      heap_.pop_back();
    }
    nodes = scan_.top_;
    return true;
  }

 private:
  struct IsLower {
    const std::vector<std::int32_t>& totals;
    bool operator()(std::uint32_t a, std::uint32_t b) const { return totals[a] < totals[b]; }
  };
  FleetScan& scan_;
  Undeclared::Indices& heap_;
  IsLower is_lower_{scan_.totals_};
};

FleetScan::Attempt::Attempt(FleetScan& scan, const NodeQuery& query, std::shared_ptr<const Pod> kept_pod)
    : scan_(scan),
      query_(query),
      state_(query.state),
      pod_(query.pod),
      kept_pod_(std::move(kept_pod)),
      snapshot_(query.snapshot),
      nominator_(nominator_of(query)),
      undeclared_(UndeclaredPlugins::of(scan.framework_, query.pod, {})) {}

bool FleetScan::Attempt::filter(std::size_t start, bool all) {
  start_ = start;
  all_ = all;
  if (undeclared_.all) return decline(declined::kNothingDeclared);
  if (!scan_.totals_fit_) return decline(declined::kTotals);
  if (!pre_filter()) return false;
  if (!scan_.undeclared_.begin(undeclared_, query_) || !filter_declared() || !filter_nominated()) return false;
  feasible_ = scan_.rejected_.size() - sum_of(scan_.rejected_);
  const Undeclared& asking = scan_.undeclared_;
  const bool sure = !asking.filters() || !(all || asking.needs_all() || feasible_ <= 1);
  return sure || judge_all();
}

// Calls are counted only when the scan goes on: otherwise PreFilter runs again, and is counted then.
bool FleetScan::Attempt::pre_filter() {
  state_.skip_filter.reset();
  const auto& asked = scan_.framework_.pre_filters();
  for (const auto& entry : asked) {
    PreFilterResult narrowed;
    const Status status = entry.plugin->pre_filter(state_, pod_, snapshot_, narrowed);
    if (status.is_skip()) {
      state_.skip_filter.set(entry.number);
    } else if (!status.is_success() || narrowed.node_names) {
      return decline(declined::kPreFilter);
    }
  }
  for (const auto& entry : scan_.framework_.filters()) {
    const bool sums = entry.summing != nullptr && !undeclared_.own.test(entry.number);
    if (sums && !state_.skip_filter.test(entry.number)) return decline(declined::kSums);
  }
  for (const auto& entry : asked) {
    if (!state_.skip_filter.test(entry.number)) entry.count();
  }
  return true;
}

bool FleetScan::Attempt::filter_declared() {
  const auto& filters = scan_.framework_.filters();
  scan_.rejected_.assign(snapshot_.nodes().size(), 0);
  for (std::size_t plugin = 0; plugin < filters.size(); ++plugin) {
    if (scan_.undeclared_.filters(filters[plugin].number)) asked_.push_back({&filters[plugin], nullptr});
    if (undeclared_.filter.test(filters[plugin].number) || state_.skip_filter.test(filters[plugin].number)) continue;
    const auto* rejects = scan_.ask_filter(plugin, query_, kept_pod_);
    if (rejects == nullptr) return false;
    asked_.push_back({&filters[plugin], rejects});
    if (rejects->uniform && rejects->values.front() == 0) continue;
    std::transform(rejects->values.begin(), rejects->values.end(), scan_.rejected_.begin(), scan_.rejected_.begin(),
                   std::bit_or<>());
  }
  return true;
}

bool FleetScan::Attempt::filter_nominated() {
  for (const auto& [node, pods] : nominator_.by_node()) {
    const std::size_t index = snapshot_.index_of(node);
    if (index == snapshot_.nodes().size()) continue;
    Status status = scan_.framework_.run_filter_with_nominated(state_, pod_, *snapshot_.nodes()[index], nominator_);
    if (status.is_success()) continue;
    if (!status.is_rejected()) return false;
    scan_.rejected_[index] = 1;
    beside_nominated_.emplace(index, std::move(status));
  }
  return true;
}

// Undeclared Filters, for every node that the other plugins accept.
bool FleetScan::Attempt::judge_all() {
  judged_all_ = true;
  feasible_ = 0;
  const std::size_t nodes = snapshot_.nodes().size();
  for (std::size_t turn = 0; turn < nodes; ++turn) {
    const std::size_t index = (start_ + turn) % nodes;
    bool fits = false;
    if (!is_feasible(index)) continue;
    if (!scan_.undeclared_.judge(static_cast<Undeclared::Index>(index), fits)) return false;
    if (fits) ++feasible_;
    scan_.rejected_[index] = fits ? 0 : 1;
  }
  return true;
}

bool FleetScan::Attempt::fits(std::size_t index) {
  bool fits = false;
  return is_feasible(index) && scan_.undeclared_.judge(static_cast<Undeclared::Index>(index), fits) && fits;
}

std::size_t FleetScan::Attempt::only() const {
  return static_cast<std::size_t>(std::find(scan_.rejected_.begin(), scan_.rejected_.end(), 0) -
                                  scan_.rejected_.begin());
}

std::optional<Rejection> FleetScan::Attempt::rejection() {
  Rejection rejection;
  rejection.node_statuses.reset(snapshot_.nodes().size());
  for (std::size_t index = 0; index < snapshot_.nodes().size(); ++index) {
    std::optional<Status> status = why_rejected(index);
    if (!status) return std::nullopt;
    rejection.node_statuses.set(index, std::move(*status));
  }
  return rejection;
}

// The status of the first plugin that rejects the node. None: no plugin does.
std::optional<Status> FleetScan::Attempt::why_rejected(std::size_t index) {
  if (const auto known = beside_nominated_.find(index); known != beside_nominated_.end()) return known->second;
  for (const Asked& asked : asked_) {
    if (asked.rejects != nullptr && asked.rejects->values[index] == 0) continue;
    Status status = asked.entry->plugin->filter(state_, pod_, *snapshot_.nodes()[index]);
    if (status.is_success() && asked.rejects == nullptr) continue;
    if (!status.is_rejected()) return std::nullopt;
    return std::move(status).with_plugin(asked.entry->name);
  }
  return std::nullopt;
}

// PreScore of declared plugins depends on the class alone, or skips.
bool FleetScan::Attempt::pre_score() {
  const std::vector<std::shared_ptr<const NodeInfo>> one = {snapshot_.nodes()[only()]};
  for (const auto& entry : scan_.framework_.pre_scores()) {
    if (undeclared_.own.test(entry.number)) continue;
    entry.count();
    const Status status = entry.plugin->pre_score(state_, pod_, one);
    if (status.is_skip()) {
      state_.skip_score.set(entry.number);
    } else if (!status.is_success()) {
      return false;
    } else if (entry.summing != nullptr) {
      return decline(declined::kSums);
    }
  }
  return true;
}

std::int64_t FleetScan::Attempt::Scored::of(std::size_t index) const {
  const std::int64_t score = scores->values[index];
  return normalized.empty() ? score : normalized.find(score)->second;
}

// Normalizes each distinct score once.
bool FleetScan::Attempt::normalize(Scored& scored) const {
  if (scored.entry->normalizing == nullptr) return true;
  const std::vector<std::int32_t>& values = scored.scores->values;
  std::vector<NodeScore> each;
  for (std::size_t index = only(); index < values.size(); ++index) {
    const bool is_known = !each.empty() && each.back().score == values[index];
    if (is_known || !is_feasible(index) || !scored.normalized.try_emplace(values[index], 0).second) continue;
    each.push_back({snapshot_.nodes()[index]->name(), values[index]});
    if (scored.scores->uniform) break;
  }
  const std::vector<NodeScore> raw = each;
  if (!scored.entry->normalizing->normalize(state_, pod_, each).is_success()) return false;
  for (std::size_t i = 0; i < each.size(); ++i) scored.normalized[raw[i].score] = each[i].score;
  return true;
}

bool FleetScan::Attempt::ask_scores() {
  const auto& plugins = scan_.framework_.scores();
  for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
    const auto& entry = plugins[plugin];
    if (undeclared_.own.test(entry.number) || state_.skip_score.test(entry.number)) continue;
    if (entry.summing != nullptr) return decline(declined::kSums);
    const auto* scores = scan_.ask_score(plugin, query_, kept_pod_);
    if (scores == nullptr) return false;
    scored_.push_back({&entry, scores, {}});
  }
  return true;
}

bool FleetScan::Attempt::score() {
  if (!pre_score() || !ask_scores()) return false;
  // Unless all scores are equal, normalized scores depend on which nodes are feasible.
  const bool depends = std::any_of(scored_.begin(), scored_.end(), [](const Scored& scored) {
    return scored.entry->normalizing != nullptr && !scored.scores->uniform;
  });
  if (depends && scan_.undeclared_.filters() && !judged_all_ && !judge_all()) return false;
  if (feasible_ == 0) return true;
  scan_.totals_.assign(snapshot_.nodes().size(), 0);
  scan_.of_all_ = 0;
  for (Scored& scored : scored_) {
    if (!normalize(scored) || !add_to_totals(scored)) return false;
  }
  const Undeclared& asking = scan_.undeclared_;
  return !asking.scores() || !(all_ || asking.needs_all()) || score_undeclared();
}

// False: a score of a feasible node is out of range.
bool FleetScan::Attempt::add_to_totals(const Scored& scored) const {
  const std::int64_t weight = scored.entry->weight;
  if (scored.scores->uniform) {
    const std::int64_t score = scored.of(only());
    scan_.of_all_ += score * weight;
    return score >= 0 && score <= ScorePlugin::kMaxScore;
  }
  if (scored.normalized.empty()) {
    return add_in_range(scored.scores->values, scan_.rejected_, static_cast<std::int32_t>(weight), scan_.totals_);
  }
  bool in_range = true;
  for (std::size_t index = 0; index < scan_.totals_.size(); ++index) {
    if (!is_feasible(index)) continue;
    const std::int64_t score = scored.of(index);
    in_range = in_range && score >= 0 && score <= ScorePlugin::kMaxScore;
    scan_.totals_[index] += static_cast<std::int32_t>(in_range ? score * weight : 0);
  }
  return in_range;
}

// Undeclared Score of all feasible nodes, and each node's total.
bool FleetScan::Attempt::score_undeclared() {
  scan_.nodes_.clear();
  scan_.sums_.clear();
  for (std::size_t turn = 0; turn < snapshot_.nodes().size(); ++turn) {
    const std::size_t index = (start_ + turn) % snapshot_.nodes().size();
    if (!is_feasible(index)) continue;
    scan_.nodes_.push_back(static_cast<Undeclared::Index>(index));
    scan_.sums_.push_back(scan_.totals_[index] + scan_.of_all_);
  }
  return scan_.undeclared_.score_all(scan_.nodes_, scan_.sums_);
}

bool FleetScan::Attempt::choose(Random& random, std::optional<std::size_t>& chosen) {
  if (feasible_ == 0) return true;
  Undeclared& asking = scan_.undeclared_;
  if (asking.needs_all()) {
    chosen = asking.draw_best(scan_.nodes_, scan_.sums_, random);
    return true;
  }
  if (asking.filters() || asking.scores()) {
    ByTotal by_total(scan_);
    if (!asking.find_best(by_total, start_, random, chosen)) return false;
    if (!asking.filters() || judged_all_) return true;
    unasked_ = feasible_ - asking.asked();
    feasible_ = asking.fitting();
    return true;
  }
  const auto [best, ties] = best_of(scan_.totals_, scan_.rejected_);
  std::size_t left = ties == 1 ? 0 : random.below(ties);
  for (std::size_t index = start_; !chosen; index = index + 1 == scan_.totals_.size() ? 0 : index + 1) {
    if (scan_.totals_[index] == best && is_feasible(index) && left-- == 0) chosen = index;
  }
  return true;
}

bool FleetScan::Attempt::tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) {
  const auto& plugins = scan_.framework_.scores();
  std::vector<std::function<std::int64_t(std::size_t index)>> score_of;
  auto scored = scored_.begin();
  for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
    const auto& entry = plugins[plugin];
    if (state_.skip_score.test(entry.number)) continue;
    per_plugin.push_back({entry.name, entry.weight, {}});
    if (const auto* undeclared = scan_.undeclared_.scores_of(plugin)) {
      score_of.emplace_back([undeclared, &totals](std::size_t) { return (*undeclared)[totals.size()].score; });
    } else {
      score_of.emplace_back([&mine = *scored++](std::size_t index) { return mine.of(index); });
    }
  }
  for (std::size_t turn = 0; turn < snapshot_.nodes().size(); ++turn) {
    const std::size_t index = (start_ + turn) % snapshot_.nodes().size();
    if (!is_feasible(index)) continue;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < per_plugin.size(); ++i) {
      per_plugin[i].scores.push_back({snapshot_.nodes()[index]->name(), score_of[i](index)});
      total += per_plugin[i].scores.back().score * per_plugin[i].weight;
    }
    totals.push_back({snapshot_.nodes()[index]->name(), total});
  }
  return true;
}

}  // namespace berth
