#include "core/fastpath/undeclared.h"

#include <algorithm>

#include "core/api/pod.h"

namespace berth {

namespace {

template <class List>
bool lists(const List& list, std::size_t plugin) {
  return std::any_of(list.begin(), list.end(), [plugin](const auto& entry) { return entry.number == plugin; });
}

}  // namespace

UndeclaredPlugins UndeclaredPlugins::of(const Framework& framework, const Pod& pod, const PluginBits& tracked) {
  UndeclaredPlugins found;
  const auto declares = [&](const auto& entry, Point point) {
    return is_declared(entry.plugin->reads(pod, point), entry.summing != nullptr, tracked.test(entry.number));
  };
  // A SummingPlugin without PreFilter or PreScore has no sums for Filter or Score.
  const auto has_sums = [](const auto& entry, const auto& before) {
    return entry.summing == nullptr || lists(before, entry.number);
  };
  for (const auto& entry : framework.pre_filters()) {
    if (!declares(entry, Point::pre_filter)) found.filter.set(entry.number);
  }
  for (const auto& entry : framework.filters()) {
    if (!declares(entry, Point::filter) || !has_sums(entry, framework.pre_filters())) found.filter.set(entry.number);
  }
  for (const auto& entry : framework.pre_scores()) {
    if (!declares(entry, Point::pre_score)) found.pre_score.set(entry.number);
  }
  found.own = found.filter | found.pre_score;
  for (const auto& entry : framework.scores()) {
    if (!declares(entry, Point::score) || !has_sums(entry, framework.pre_scores())) found.own.set(entry.number);
  }
  // A SummingPlugin is declared at all of its points or at none.
  const auto keep_together = [&found](const auto& list, PluginBits UndeclaredPlugins::* bits) {
    for (const auto& entry : list) {
      if (entry.summing != nullptr && found.own.test(entry.number)) (found.*bits).set(entry.number);
    }
  };
  keep_together(framework.pre_filters(), &UndeclaredPlugins::filter);
  keep_together(framework.filters(), &UndeclaredPlugins::filter);
  keep_together(framework.pre_scores(), &UndeclaredPlugins::pre_score);
  const auto all_in = [](const auto& list, const PluginBits& bits) {
    return std::all_of(list.begin(), list.end(), [&bits](const auto& entry) { return bits.test(entry.number); });
  };
  found.all = all_in(framework.filters(), found.filter) && all_in(framework.scores(), found.own);
  return found;
}

void Undeclared::begin_without() {
  filters_.reset();
  pre_scores_.reset();
  scores_.reset();
  needs_all_ = false;
  most_ = 0;
  asked_ = 0;
  verdicts_.clear();
  rejected_.clear();
}

bool Undeclared::begin(const UndeclaredPlugins& plugins, const NodeQuery& query) {
  begin_without();
  framework_ = &query.framework;
  state_ = &query.state;
  pod_ = &query.pod;
  snapshot_ = &query.snapshot;
  CycleState& state = query.state;
  state.skip_score.reset();
  for (const auto& entry : framework_->filters()) {
    if (!plugins.filter.test(entry.number) || state.skip_filter.test(entry.number)) continue;
    if (!entry.plugin->accepts_all(state, query.pod)) filters_.set(entry.number);
  }
  if (filters()) verdicts_.assign(query.snapshot.nodes().size(), Verdict::unknown);
  for (const auto& entry : framework_->pre_scores()) {
    if (!plugins.own.test(entry.number)) continue;
    if (plugins.pre_score.test(entry.number)) {
      pre_scores_.set(entry.number);
      continue;
    }
    entry.count();
    const Status status = entry.plugin->pre_score(state, query.pod, {});
    if (status.is_skip()) {
      state.skip_score.set(entry.number);
    } else if (!status.is_success()) {
      return false;
    }
  }
  needs_all_ = pre_scores_.any();
  for (const auto& entry : framework_->scores()) {
    if (!plugins.own.test(entry.number) || state.skip_score.test(entry.number)) continue;
    scores_.set(entry.number);
    most_ += entry.weight * ScorePlugin::kMaxScore;
    needs_all_ = needs_all_ || entry.normalizing != nullptr;
  }
  return true;
}

bool Undeclared::judge(Index node, bool& fits) {
  if (!filters()) {
    fits = true;
    return true;
  }
  Verdict& verdict = verdicts_[node];
  if (verdict == Verdict::unknown) {
    Status status;
    for (const auto& entry : framework_->filters()) {
      if (!filters_.test(entry.number)) continue;
      entry.count();
      status = entry.plugin->filter(*state_, *pod_, *snapshot_->nodes()[node]);
      if (status.is_success()) continue;
      if (!status.is_rejected()) return false;
      status.set_plugin(entry.name);
      break;
    }
    verdict = status.is_success() ? Verdict::fits : Verdict::rejected;
    ++asked_;
    if (verdict == Verdict::rejected) rejected_.emplace_back(node, std::move(status));
  }
  fits = verdict == Verdict::fits;
  return true;
}

// The sum of their weighted scores of the node.
bool Undeclared::score(Index node, std::int64_t& total) {
  total = 0;
  for (const auto& entry : framework_->scores()) {
    if (!scores_.test(entry.number)) continue;
    entry.count();
    std::int64_t score = 0;
    if (!entry.plugin->score(*state_, *pod_, *snapshot_->nodes()[node], score).is_success()) return false;
    if (score < 0 || score > ScorePlugin::kMaxScore) return false;
    total += score * entry.weight;
  }
  return true;
}

// Into best_, in ascending order.
bool Undeclared::collect_best(NodesByTotal& nodes) {
  best_.clear();
  std::int64_t highest = 0;
  std::int64_t total = 0;
  for (NodesByTotal::Indices alike; nodes.next(total, alike);) {
    if (!best_.empty() && highest > total + most_) break;
    for (const Index node : alike) {
      bool fits = false;
      std::int64_t own = 0;
      if (!judge(node, fits)) return false;
      if (!fits) continue;
      if (!score(node, own)) return false;
      if (best_.empty() || total + own > highest) {
        highest = total + own;
        best_.clear();
      }
      if (total + own == highest) best_.push_back(node);
    }
  }
  std::sort(best_.begin(), best_.end());
  return true;
}

bool Undeclared::find_best(NodesByTotal& nodes, std::size_t start, Random& random, std::optional<std::size_t>& chosen) {
  if (!collect_best(nodes)) return false;
  if (best_.empty()) return true;
  const std::size_t drawn = best_.size() == 1 ? 0 : random.below(best_.size());
  const auto first = std::lower_bound(best_.begin(), best_.end(), start) - best_.begin();
  chosen = best_[(static_cast<std::size_t>(first) + drawn) % best_.size()];
  return true;
}

std::optional<std::size_t> Undeclared::draw_best(const Indices& nodes, const std::vector<std::int64_t>& totals,
                                                 Random& random) {
  best_.clear();
  std::int64_t highest = 0;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (best_.empty() || totals[at] > highest) {
      highest = totals[at];
      best_.clear();
    }
    if (totals[at] == highest) best_.push_back(nodes[at]);
  }
  if (best_.empty()) return std::nullopt;
  return best_[best_.size() == 1 ? 0 : random.below(best_.size())];
}

bool Undeclared::pre_score(const Indices& feasible) {
  if (pre_scores_.none()) return true;
  feasible_.clear();
  for (const Index node : feasible) feasible_.push_back(snapshot_->nodes()[node]);
  for (const auto& entry : framework_->pre_scores()) {
    if (!pre_scores_.test(entry.number)) continue;
    entry.count();
    const Status status = entry.plugin->pre_score(*state_, *pod_, feasible_);
    if (status.is_skip()) {
      state_->skip_score.set(entry.number);
      scores_.reset(entry.number);
    } else if (!status.is_success()) {
      return false;
    }
  }
  feasible_.clear();
  return true;
}

bool Undeclared::score_all(const Indices& feasible, std::vector<std::int64_t>& totals) {
  if (!pre_score(feasible)) return false;
  const auto& plugins = framework_->scores();
  all_scores_.resize(plugins.size());
  for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
    if (scores_.test(plugins[plugin].number)) all_scores_[plugin].resize(feasible.size());
  }
  for (std::size_t at = 0; at < feasible.size(); ++at) {
    const NodeInfo& node = *snapshot_->nodes()[feasible[at]];
    for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
      if (!scores_.test(plugins[plugin].number)) continue;
      plugins[plugin].count();
      NodeScore& score = all_scores_[plugin][at];
      score.node = node.name();
      score.score = 0;
      if (!plugins[plugin].plugin->score(*state_, *pod_, node, score.score).is_success()) return false;
    }
  }
  return normalize(totals);
}

bool Undeclared::normalize(std::vector<std::int64_t>& totals) {
  const auto& plugins = framework_->scores();
  for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
    const auto& entry = plugins[plugin];
    if (!scores_.test(entry.number)) continue;
    std::vector<NodeScore>& scores = all_scores_[plugin];
    if (entry.normalizing != nullptr && !entry.normalizing->normalize(*state_, *pod_, scores).is_success())
      return false;
    for (std::size_t at = 0; at < totals.size(); ++at) {
      if (scores[at].score < 0 || scores[at].score > ScorePlugin::kMaxScore) return false;
      totals[at] += scores[at].score * entry.weight;
    }
  }
  return true;
}

const std::vector<NodeScore>* Undeclared::scores_of(std::size_t score_plugin) const {
  if (scores_.none()) return nullptr;  // nothing was begun
  return scores_.test(framework_->scores()[score_plugin].number) ? &all_scores_[score_plugin] : nullptr;
}

}  // namespace berth
