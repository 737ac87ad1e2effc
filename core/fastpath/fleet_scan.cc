#include "core/fastpath/fleet_scan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "core/api/pod.h"

namespace berth {

namespace {

bool reads_nodes_only(const Plugin& plugin, const Pod& pod, Point point) {
  const Reads reads = plugin.reads(pod, point);
  return reads == Reads::node || reads == Reads::node_and_images;
}

// Brings answers up to date: `ask_one` about nodes that changed, or `ask_all`. False: something broke.
template <class Kept, class AskOne, class AskAll>
bool follow(Kept& kept, const Snapshot& snapshot, AskOne ask_one, AskAll ask_all) {
  const auto& changes = snapshot.changes();
  const std::int64_t behind = snapshot.changes_made() - kept.changes_made;
  bool holds = kept.values.size() == snapshot.nodes().size() && kept.images_changed == snapshot.images_changed() &&
               behind <= static_cast<std::int64_t>(changes.size());
  holds = holds && std::all_of(changes.end() - behind, changes.end(), [&](const Snapshot::Change& change) {
            if (change.kind != Snapshot::Change::Kind::replaced) return false;
            if (!ask_one(change.index, kept.values[change.index])) return false;
            kept.uniform = kept.uniform && kept.values.size() > 1 &&
                           kept.values[change.index] == kept.values[change.index == 0 ? 1 : 0];
            return true;
          });
  if (!holds) {
    kept.values.assign(snapshot.nodes().size(), {});
    if (!ask_all(kept.values)) {
      kept.values.clear();
      return false;
    }
    kept.uniform = std::equal(kept.values.begin() + 1, kept.values.end(), kept.values.begin());
  }
  kept.changes_made = snapshot.changes_made();
  kept.images_changed = snapshot.images_changed();
  return true;
}

// The answer about each node by itself. False: something broke.
template <class Value, class AskOne>
bool ask_each(std::vector<Value>& values, AskOne ask_one) {
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (!ask_one(index, values[index])) return false;
  }
  return true;
}

// Over all nodes, by index, and without a branch: several at once.

std::size_t sum_of(const std::vector<std::uint8_t>& rejected) {
  std::uint32_t sum = 0;
  for (const std::uint8_t each : rejected) sum += each;
  return sum;
}

// Nodes that are rejected get anything. False: the score of one that is not is out of range.
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

template <class Value>
typename NodeAnswers<Value>::Kept& NodeAnswers<Value>::of(const Plugin& plugin, const std::shared_ptr<const Pod>& pod) {
  auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return !plugin.tells_apart(*each->pod, *pod); });
  if (found == kept_.end()) {
    if (kept_.size() < kKept) kept_.push_back(std::make_unique<Kept>());
    found = kept_.end() - 1;
    (*found)->pod = pod;
    (*found)->changes_made = -1;
    (*found)->values.clear();
  }
  std::rotate(kept_.begin(), found, found + 1);
  return *kept_.front();
}

FleetScan::FleetScan(const Framework& framework)
    : framework_(framework), filtered_(framework.filters().size()), scored_(framework.scores().size()) {
  std::int64_t weights = 0;
  for (const auto& entry : framework.scores()) weights += entry.weight;
  totals_fit_ = weights <= std::numeric_limits<std::int32_t>::max() / ScorePlugin::kMaxScore;
}

// Nobody reads more than nodes but those who sum, and may skip.
std::string_view FleetScan::why_not_for(const Pod& pod) const {
  const auto all_do = [&pod](const auto& list, Point point) {
    return std::all_of(list.begin(), list.end(), [&pod, point](const auto& entry) {
      return entry.plugin->reads(pod, point) == Reads::sums || reads_nodes_only(*entry.plugin, pod, point);
    });
  };
  if (!totals_fit_) return declined::kTotals;
  const bool reads_nodes =
      all_do(framework_.pre_filters(), Point::pre_filter) && all_do(framework_.filters(), Point::filter) &&
      all_do(framework_.pre_scores(), Point::pre_score) && all_do(framework_.scores(), Point::score);
  return reads_nodes ? std::string_view() : declined::kNothingDeclared;
}

const FleetScan::FilterAnswers::Kept* FleetScan::ask_filter(std::size_t plugin, CycleState& state,
                                                            const std::shared_ptr<const Pod>& pod,
                                                            const Snapshot& snapshot) {
  const auto& entry = framework_.filters()[plugin];
  auto& kept = filtered_[plugin].of(*entry.plugin, pod);
  const auto ask_one = [&](std::size_t index, std::uint8_t& rejects) {
    entry.count();
    const Status status = entry.plugin->filter(state, *pod, *snapshot.nodes()[index]);
    rejects = status.is_success() ? 0 : 1;
    return status.is_success() || status.is_rejected();
  };
  const auto ask_all = [&](std::vector<std::uint8_t>& rejects) {
    if (entry.batch_filter == nullptr || !entry.batch_filter->filter_all(state, *pod, snapshot, rejects)) {
      return ask_each(rejects, ask_one);
    }
    entry.count(rejects.size());
    return true;
  };
  return follow(kept, snapshot, ask_one, ask_all) ? &kept : nullptr;
}

const FleetScan::ScoreAnswers::Kept* FleetScan::ask_score(std::size_t plugin, CycleState& state,
                                                          const std::shared_ptr<const Pod>& pod,
                                                          const Snapshot& snapshot) {
  const auto& entry = framework_.scores()[plugin];
  auto& kept = scored_[plugin].of(*entry.plugin, pod);
  const auto ask_one = [&](std::size_t index, std::int32_t& score) {
    entry.count();
    std::int64_t whole = 0;
    const Status status = entry.plugin->score(state, *pod, *snapshot.nodes()[index], whole);
    score = static_cast<std::int32_t>(whole);
    return status.is_success() && std::in_range<std::int32_t>(whole);
  };
  const auto ask_all = [&](std::vector<std::int32_t>& scores) {
    if (entry.batch_score == nullptr || !entry.batch_score->score_all(state, *pod, snapshot, scores)) {
      return ask_each(scores, ask_one);
    }
    entry.count(scores.size());
    return true;
  };
  return follow(kept, snapshot, ask_one, ask_all) ? &kept : nullptr;
}

FleetScan::Attempt::Attempt(FleetScan& scan, const NodeQuery& query, std::shared_ptr<const Pod> pod)
    : scan_(scan),
      state_(query.state),
      pod_(std::move(pod)),
      snapshot_(query.snapshot),
      nominator_(nominator_of(query)) {}

bool FleetScan::Attempt::filter(std::size_t start, bool /*all*/) {
  start_ = start;
  if (const std::string_view why = scan_.why_not_for(*pod_); !why.empty()) return decline(why);
  if (!pre_filter()) return false;
  const auto& filters = scan_.framework_.filters();
  scan_.rejected_.assign(snapshot_.nodes().size(), 0);
  for (std::size_t plugin = 0; plugin < filters.size(); ++plugin) {
    if (state_.skip_filter.test(filters[plugin].number)) continue;
    const auto* rejects = scan_.ask_filter(plugin, state_, pod_, snapshot_);
    if (rejects == nullptr) return false;
    asked_.push_back({&filters[plugin], rejects});
    if (rejects->uniform && rejects->values.front() == 0) continue;
    std::transform(rejects->values.begin(), rejects->values.end(), scan_.rejected_.begin(), scan_.rejected_.begin(),
                   std::bit_or<>());
  }
  if (!filter_nominated()) return false;
  feasible_ = scan_.rejected_.size() - sum_of(scan_.rejected_);
  return true;
}

// Counted when the pod is for here: otherwise PreFilter is asked again, and counted then.
bool FleetScan::Attempt::pre_filter() {
  state_.skip_filter.reset();
  const auto& asked = scan_.framework_.pre_filters();
  for (const auto& entry : asked) {
    PreFilterResult narrowed;
    const Status status = entry.plugin->pre_filter(state_, *pod_, snapshot_, narrowed);
    if (status.is_skip()) {
      state_.skip_filter.set(entry.number);
    } else if (!status.is_success() || narrowed.node_names) {
      return decline(declined::kPreFilter);
    }
  }
  for (const auto& entry : scan_.framework_.filters()) {
    if (state_.skip_filter.test(entry.number)) continue;
    if (!reads_nodes_only(*entry.plugin, *pod_, Point::filter)) return decline(declined::kSums);
  }
  for (const auto& entry : asked) {
    if (!state_.skip_filter.test(entry.number)) entry.count();
  }
  return true;
}

bool FleetScan::Attempt::filter_nominated() {
  for (const auto& [node, pods] : nominator_.by_node()) {
    const std::size_t index = snapshot_.index_of(node);
    if (index == snapshot_.nodes().size()) continue;
    Status status = scan_.framework_.run_filter_with_nominated(state_, *pod_, *snapshot_.nodes()[index], nominator_);
    if (status.is_success()) continue;
    if (!status.is_rejected()) return false;
    scan_.rejected_[index] = 1;
    beside_nominated_.emplace(index, std::move(status));
  }
  return true;
}

std::size_t FleetScan::Attempt::only() const {
  return static_cast<std::size_t>(std::find(scan_.rejected_.begin(), scan_.rejected_.end(), 0) -
                                  scan_.rejected_.begin());
}

std::optional<Rejection> FleetScan::Attempt::rejection() {
  Rejection rejection;
  rejection.node_statuses.reset(snapshot_.nodes().size());
  for (std::size_t index = 0; index < snapshot_.nodes().size(); ++index) {
    if (const auto known = beside_nominated_.find(index); known != beside_nominated_.end()) {
      rejection.node_statuses.set(index, known->second);
      continue;
    }
    const auto first = std::find_if(asked_.begin(), asked_.end(),
                                    [index](const Asked& asked) { return asked.rejects->values[index] != 0; });
    if (first == asked_.end()) return std::nullopt;
    Status status = first->entry->plugin->filter(state_, *pod_, *snapshot_.nodes()[index]);
    if (!status.is_rejected()) return std::nullopt;
    rejection.node_statuses.set(index, std::move(status).with_plugin(first->entry->name));
  }
  return rejection;
}

// PreScore asks about the class alone, or skips.
bool FleetScan::Attempt::pre_score() {
  const std::vector<std::shared_ptr<const NodeInfo>> one = {snapshot_.nodes()[only()]};
  state_.skip_score.reset();
  for (const auto& entry : scan_.framework_.pre_scores()) {
    entry.count();
    const Status status = entry.plugin->pre_score(state_, *pod_, one);
    if (status.is_skip()) {
      state_.skip_score.set(entry.number);
    } else if (!status.is_success() || !reads_nodes_only(*entry.plugin, *pod_, Point::pre_score)) {
      return decline(status.is_success() ? declined::kSums : declined::kBroke);
    }
  }
  return true;
}

std::int64_t FleetScan::Attempt::Scored::of(std::size_t index) const {
  const std::int64_t score = scores->values[index];
  return normalized.empty() ? score : normalized.find(score)->second;
}

// One node of each score stands for all of it.
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
  if (!scored.entry->normalizing->normalize(state_, *pod_, each).is_success()) return false;
  for (std::size_t i = 0; i < each.size(); ++i) scored.normalized[raw[i].score] = each[i].score;
  return true;
}

bool FleetScan::Attempt::score() {
  if (!pre_score()) return false;
  const auto& plugins = scan_.framework_.scores();
  scan_.totals_.assign(snapshot_.nodes().size(), 0);
  scan_.of_all_ = 0;
  for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
    const auto& entry = plugins[plugin];
    if (state_.skip_score.test(entry.number)) continue;
    if (!reads_nodes_only(*entry.plugin, *pod_, Point::score)) return decline(declined::kSums);
    const auto* scores = scan_.ask_score(plugin, state_, pod_, snapshot_);
    if (scores == nullptr) return false;
    scored_.push_back({&entry, scores, {}});
    if (!normalize(scored_.back()) || !add_to_totals(scored_.back())) return false;
  }
  return true;
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

bool FleetScan::Attempt::choose(Random& random, std::optional<std::size_t>& chosen) {
  const auto [best, ties] = best_of(scan_.totals_, scan_.rejected_);
  std::size_t left = ties == 1 ? 0 : random.below(ties);
  for (std::size_t index = start_; !chosen; index = index + 1 == scan_.totals_.size() ? 0 : index + 1) {
    if (scan_.totals_[index] == best && is_feasible(index) && left-- == 0) chosen = index;
  }
  return true;
}

bool FleetScan::Attempt::tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) {
  for (const Scored& scored : scored_) per_plugin.push_back({scored.entry->name, scored.entry->weight, {}});
  for (std::size_t turn = 0; turn < snapshot_.nodes().size(); ++turn) {
    const std::size_t index = (start_ + turn) % snapshot_.nodes().size();
    if (!is_feasible(index)) continue;
    totals.push_back({snapshot_.nodes()[index]->name(), scan_.totals_[index] + scan_.of_all_});
    for (std::size_t i = 0; i < scored_.size(); ++i) {
      per_plugin[i].scores.push_back({snapshot_.nodes()[index]->name(), scored_[i].of(index)});
    }
  }
  return true;
}

Evaluation FleetScans::evaluate(const NodeQuery& query) {
  if (const std::string_view why = why_unsuited(query); !why.empty()) return Evaluation::decline(why);
  FleetScan& scan = scans_.try_emplace(&query.framework, query.framework).first->second;
  auto pod = std::make_shared<Pod>(query.pod);
  pod->shape = {};
  FleetScan::Attempt attempt(scan, query, std::move(pod));
  return decide(attempt, query);
}

}  // namespace berth
