// One attempt on a view: what is decided for each pod by itself.
#include <algorithm>
#include <functional>
#include <map>

#include "core/api/pod.h"
#include "core/fastpath/class_view.h"

namespace berth {

ClassView::Attempt::Attempt(ClassView& view, const NodeQuery& query)
    : view_(view),
      own_state_(query.state),
      pod_(query.pod),
      snapshot_(query.snapshot),
      nominator_(nominator_of(query)) {
  view_.fit_.clear();
  view_.alike_.clear();
  view_.refused_.clear();
}

ClassView::Attempt::~Attempt() {
  for (const HeldBack& each : view_.held_back_) view_.candidates_.put(each.index, each.key, each.score);
  view_.held_back_.clear();
}

void ClassView::Attempt::hold_back(Candidates::Index index, Status status) {
  view_.held_back_.push_back(
      {index, view_.candidates_.key_of(index), view_.candidates_.score_of(index), std::move(status)});
  view_.candidates_.take(index);
}

// PreFilter of those of one kind, for what they keep in the pod's own state. False: all nodes have to be asked.
bool ClassView::Attempt::ask_pre_filters(const PluginBits& meant) {
  for (const auto& entry : view_.framework_.pre_filters()) {
    if (!meant.test(entry.number)) continue;
    PreFilterResult narrowed;
    entry.count();
    const Status status = entry.plugin->pre_filter(own_state_, pod_, snapshot_, narrowed);
    if (status.is_skip()) {
      own_state_.skip_filter.set(entry.number);
    } else if (!status.is_success() || narrowed.node_names) {
      return decline(declined::kPreFilter);
    }
  }
  return true;
}

// Those who declare nothing: PreFilter, and whether their Filter has to run on nodes.
bool ClassView::Attempt::ask_undeclared() {
  if (view_.undeclared_.none()) return true;
  if (!ask_pre_filters(view_.undeclared_)) return false;
  for (const auto& entry : view_.framework_.filters()) {
    if (!view_.undeclared_.test(entry.number)) continue;
    if (own_state_.skip_filter.test(entry.number) || entry.plugin->accepts_all(own_state_, pod_)) {
      own_state_.skip_filter.set(entry.number);
      view_.state_.skip_filter.set(entry.number);
      continue;
    }
    asks_nodes_ = true;
    view_.state_.skip_filter.reset(entry.number);
  }
  return true;
}

bool ClassView::Attempt::settle_on(std::size_t index) {
  for (const auto& entry : view_.framework_.filters()) {
    if (!view_.tracked_plugins_.test(entry.number) || own_state_.skip_filter.test(entry.number)) continue;
    entry.count();
    if (!entry.plugin->filter(own_state_, pod_, *snapshot_.nodes()[index]).is_success()) return false;
  }
  return true;
}

// Sums that came to say nothing, or say something again.
void ClassView::Attempt::skip_sums() {
  for (const auto& entry : view_.framework_.pre_filters()) {
    if (entry.summing == nullptr) continue;
    if (entry.summing->skips_filter(view_.state_, view_.pod_)) {
      view_.state_.skip_filter.set(entry.number);
    } else {
      view_.state_.skip_filter.reset(entry.number);
    }
  }
}

// Some of the pods nominated to a node have to be counted there.
bool ClassView::Attempt::counts(const std::vector<std::shared_ptr<const Pod>>& nominated) const {
  return std::any_of(nominated.begin(), nominated.end(),
                     [this](const auto& each) { return each->priority >= pod_.priority && each->uid() != pod_.uid(); });
}

Status ClassView::Attempt::filter_with(const std::vector<std::shared_ptr<const Pod>>& nominated,
                                       std::size_t index) const {
  const NodeInfo& node = *snapshot_.nodes()[index];
  const auto ask = [&] { return view_.framework_.run_filter_with_nominated(view_.state_, pod_, node, nominator_); };
  const auto is_own = [this](const auto& each) { return each->uid() == pod_.uid(); };
  if (!looks_at_one_node() || std::any_of(nominated.begin(), nominated.end(), is_own)) return ask();
  WithNominated& known = view_.with_nominated_[index];
  if (known.generation != node.generation || known.nominated != nominated) {
    known = {node.generation, nominated, ask()};
  }
  return known.status;
}

bool ClassView::Attempt::hold_back_nominated() {
  for (const auto& [node, pods] : nominator_.by_node()) {
    const std::size_t at = counts(pods) ? snapshot_.index_of(node) : snapshot_.nodes().size();
    if (at == snapshot_.nodes().size()) continue;
    const auto index = static_cast<Candidates::Index>(at);
    if (!view_.candidates_.contains(index)) continue;
    if (asks_nodes_) return decline(declined::kNominated);  // what a trial needs lies in two states
    Status status = filter_with(pods, at);
    if (status.is_success()) continue;
    if (status.code() == Code::error) return false;
    hold_back(index, std::move(status));
  }
  return true;
}

// Filter of those who sum, over one node of each group.
bool ClassView::Attempt::filter_groups() {
  for (const auto& [key, group] : view_.candidates_.groups()) {
    const NodeInfo& node = *snapshot_.nodes()[group.any()];
    bool rejected = false;
    for (const auto& entry : view_.framework_.filters()) {
      if (entry.summing == nullptr || view_.state_.skip_filter.test(entry.number)) continue;
      entry.count();
      Status status = entry.plugin->filter(view_.state_, pod_, node);
      if (status.is_success()) continue;
      if (!status.is_rejected()) return false;
      view_.refused_.push_back({&group, std::move(status).with_plugin(entry.name)});
      rejected = true;
      break;
    }
    if (!rejected) view_.fit_.push_back(&group);
  }
  std::sort(view_.fit_.begin(), view_.fit_.end(), std::less<>());
  return true;
}

bool ClassView::Attempt::is_fit(const Candidates::Group* group) const {
  return std::binary_search(view_.fit_.begin(), view_.fit_.end(), group, std::less<>());
}

// Filter of those who declare nothing, over every node that is left.
bool ClassView::Attempt::filter_nodes() {
  const auto& nodes = snapshot_.nodes();
  for (std::size_t turn = 0; turn < nodes.size(); ++turn) {
    const auto index = static_cast<Candidates::Index>((start_ + turn) % nodes.size());
    const Candidates::Group* group = view_.candidates_.group_of(index);
    if (group == nullptr || !is_fit(group)) continue;
    for (const auto& entry : view_.framework_.filters()) {
      if (!view_.undeclared_.test(entry.number) || own_state_.skip_filter.test(entry.number)) continue;
      entry.count();
      Status status = entry.plugin->filter(own_state_, pod_, *nodes[index]);
      if (status.is_success()) continue;
      if (!status.is_rejected()) return false;
      hold_back(index, std::move(status).with_plugin(entry.name));
      break;
    }
  }
  return true;
}

bool ClassView::Attempt::filter(std::size_t start, bool /*all*/) {
  start_ = start;
  if (!ask_undeclared() || !ask_pre_filters(view_.tracked_plugins_)) return false;
  skip_sums();
  if (!hold_back_nominated()) return false;
  if (!filter_groups()) return false;
  if (asks_nodes_ && !filter_nodes()) return false;
  for (const auto& [key, group] : view_.candidates_.groups()) {
    if (!is_fit(&group)) continue;
    view_.alike_.push_back({&key, &group, 0});
    feasible_ += group.size;
  }
  return true;
}

// A node is told the first plugin that rejects it, and here those who sum are asked last.
bool ClassView::Attempt::asks_in_order() const {
  bool sums = false;
  for (const auto& entry : view_.framework_.filters()) {
    if (view_.state_.skip_filter.test(entry.number)) continue;
    if (sums && entry.summing == nullptr) return false;
    sums = entry.summing != nullptr;
  }
  return !asks_nodes_;
}

bool ClassView::Attempt::looks_at_one_node() const {
  const auto& asked = view_.framework_.pre_filters();
  return view_.undeclared_.none() && view_.keys_.empty() &&
         std::all_of(asked.begin(), asked.end(), [this](const auto& entry) {
           return entry.summing == nullptr || view_.state_.skip_filter.test(entry.number);
         });
}

std::optional<Rejection> ClassView::Attempt::rejection() {
  if (!asks_in_order()) return std::nullopt;
  Rejection rejection{view_.rejected_, looks_at_one_node() ? &view_.state_ : nullptr};
  NodeStatuses& statuses = rejection.node_statuses;
  for (const Refused& refused : view_.refused_) {
    for (const auto& [score, indices] : refused.group->by_score) {
      for (const Candidates::Index index : indices) statuses.set(index, refused.status);
    }
  }
  for (const HeldBack& each : view_.held_back_) statuses.set(each.index, each.status);
  // Where a plugin rejects the node alone it may say more of it with the pods that are nominated there.
  for (const auto& [node, pods] : nominator_.by_node()) {
    const std::size_t index = counts(pods) ? snapshot_.index_of(node) : snapshot_.nodes().size();
    if (view_.rejected_.find(index) == nullptr) continue;
    Status status = filter_with(pods, index);
    if (!status.is_rejected()) return std::nullopt;
    statuses.set(index, std::move(status));
  }
  return rejection;
}

bool ClassView::Attempt::fits(std::size_t index) {
  if (!view_.candidates_.contains(static_cast<Candidates::Index>(index))) return false;
  return std::any_of(view_.alike_.begin(), view_.alike_.end(), [&](const Alike& alike) {
    return alike.group == view_.candidates_.group_of(static_cast<Candidates::Index>(index));
  });
}

bool ClassView::Attempt::score() {
  const auto& framework = view_.framework_;
  CycleState& state = view_.state_;
  const std::vector<Alike>& all = view_.alike_;
  std::vector<AlikeNodes>& nodes = view_.alike_nodes_;
  nodes.clear();
  for (const Alike& alike : all) nodes.push_back({snapshot_.nodes()[alike.group->any()], alike.group->size});
  for (const auto& entry : framework.pre_scores()) {
    if (entry.summing == nullptr) continue;
    const Status status = entry.summing->pre_score_sums(state, view_.pod_, nodes, view_.domains_);
    if (status.is_skip()) {
      state.skip_score.set(entry.number);
    } else if (!status.is_success()) {
      return false;
    } else {
      state.skip_score.reset(entry.number);
    }
  }
  view_.scratch_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) view_.scratch_[i].node = nodes[i].any->name();
  nodes.clear();
  view_.alike_scores_.assign(all.size() * framework.scores().size(), 0);
  for (std::size_t plugin = 0; plugin < framework.scores().size(); ++plugin) {
    if (!score_groups(plugin)) return false;
  }
  return true;
}

// One Score plugin, over one node of each group. A plugin that looks at nodes alone has its scores in the keys.
bool ClassView::Attempt::score_groups(std::size_t plugin) {
  const auto& entry = view_.framework_.scores()[plugin];
  CycleState& state = view_.state_;
  const bool summing = entry.summing != nullptr;
  if (state.skip_score.test(entry.number) || (!summing && entry.normalizing == nullptr)) return true;
  std::size_t in_key = 0;
  for (std::size_t i = 0; i < plugin; ++i) {
    const auto& other = view_.framework_.scores()[i];
    if (other.summing == nullptr && other.normalizing != nullptr && !state.skip_score.test(other.number)) {
      ++in_key;
    }
  }
  std::vector<NodeScore>& scores = view_.scratch_;
  std::vector<Alike>& all = view_.alike_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    scores[i].score = summing ? 0 : (*all[i].key)[in_key];
    if (!summing) continue;
    entry.count();
    const NodeInfo& node = *snapshot_.nodes()[all[i].group->any()];
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

std::int64_t& ClassView::Attempt::score_at(std::size_t alike, std::size_t plugin) const {
  return view_.alike_scores_[alike * view_.framework_.scores().size() + plugin];
}

bool ClassView::Attempt::choose(Random& random, std::optional<std::size_t>& chosen) {
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

bool ClassView::Attempt::tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) {
  const auto& plugins = view_.framework_.scores();
  const auto& nodes = snapshot_.nodes();
  std::map<const Candidates::Group*, std::size_t> told;  // its index in alike_
  for (std::size_t i = 0; i < view_.alike_.size(); ++i) told[view_.alike_[i].group] = i;
  for (const auto& entry : plugins) {
    if (!view_.state_.skip_score.test(entry.number)) per_plugin.push_back({entry.name, entry.weight, {}});
  }
  for (std::size_t turn = 0; turn < nodes.size(); ++turn) {
    const std::size_t at = (start_ + turn) % nodes.size();
    const auto alike = told.find(view_.candidates_.group_of(static_cast<Candidates::Index>(at)));
    if (alike == told.end()) continue;
    if (!settle_on(at)) return false;
    totals.push_back({nodes[at]->name(), 0});
    auto mine = per_plugin.begin();
    for (std::size_t plugin = 0; plugin < plugins.size(); ++plugin) {
      const auto& entry = plugins[plugin];
      if (view_.state_.skip_score.test(entry.number)) continue;
      std::int64_t score = score_at(alike->second, plugin);
      const bool own = entry.summing == nullptr && entry.normalizing == nullptr;
      if (own && !entry.plugin->score(view_.state_, pod_, *nodes[at], score).is_success()) return false;
      (mine++)->scores.push_back({nodes[at]->name(), score});
      totals.back().score += score * entry.weight;
    }
  }
  return true;
}

}  // namespace berth
