// Filter of one attempt on a view.
#include <algorithm>
#include <functional>

#include "core/fastpath/class_view.h"

namespace berth {

ClassView::Attempt::Attempt(ClassView& view, Undeclared& undeclared, const NodeQuery& query)
    : view_(view),
      undeclared_(undeclared),
      query_(query),
      own_state_(query.state),
      pod_(query.pod),
      snapshot_(query.snapshot),
      nominator_(nominator_of(query)) {
  view_.alike_.clear();
  view_.refused_.clear();
  undeclared_.begin_without();
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

// Runs PreFilter of these plugins on the pod's own state.
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

bool ClassView::Attempt::settle_on(std::size_t index) {
  for (const auto& entry : view_.framework_.filters()) {
    if (!view_.tracked_plugins_.test(entry.number) || own_state_.skip_filter.test(entry.number)) continue;
    entry.count();
    if (!entry.plugin->filter(own_state_, pod_, *snapshot_.nodes()[index]).is_success()) return false;
  }
  return true;
}

// Whether SummingPlugins skip Filter changes with their sums.
void ClassView::Attempt::skip_sums() {
  for (const auto& entry : view_.framework_.pre_filters()) {
    if (!view_.sums(entry)) continue;
    if (entry.summing->skips_filter(view_.state_, view_.pod_)) {
      view_.state_.skip_filter.set(entry.number);
    } else {
      view_.state_.skip_filter.reset(entry.number);
    }
  }
}

// True when Filter has to count some of the pods nominated to a node.
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
    if (undeclared_.filters()) return decline(declined::kNominated);  // the trial would need both states
    Status status = filter_with(pods, at);
    if (status.is_success()) continue;
    if (status.code() == Code::error) return false;
    hold_back(index, std::move(status));
  }
  return true;
}

// Filter of SummingPlugins, for one node of each group.
bool ClassView::Attempt::filter_groups() {
  for (auto& [key, group] : view_.candidates_.groups()) {
    const NodeInfo& node = *snapshot_.nodes()[group.any()];
    group.number = static_cast<std::uint32_t>(view_.alike_.size());
    for (const auto& entry : view_.framework_.filters()) {
      if (!view_.sums(entry) || view_.state_.skip_filter.test(entry.number)) continue;
      entry.count();
      Status status = entry.plugin->filter(view_.state_, pod_, node);
      if (status.is_success()) continue;
      if (!status.is_rejected()) return false;
      view_.refused_.push_back({&group, std::move(status).with_plugin(entry.name)});
      group.number = Candidates::Group::kNone;
      break;
    }
    if (group.number == Candidates::Group::kNone) continue;
    view_.alike_.push_back({&key, &group, group.size, group.any(), 0});
    feasible_ += group.size;
  }
  return true;
}

// As far as is known: undeclared Filters may not have judged the node yet.
bool ClassView::Attempt::is_feasible(Candidates::Index index) const {
  const Candidates::Group* group = view_.candidates_.group_of(index);
  return group != nullptr && group->number != Candidates::Group::kNone && !undeclared_.is_rejected(index);
}

// Undeclared Filters, for every node that the other plugins accept.
bool ClassView::Attempt::judge_all() {
  judged_all_ = true;
  for (Alike& each : view_.alike_) each.size = 0;
  const std::size_t nodes = snapshot_.nodes().size();
  for (std::size_t turn = 0; turn < nodes; ++turn) {
    const auto index = static_cast<Candidates::Index>((start_ + turn) % nodes);
    if (!is_feasible(index)) continue;
    bool fits = false;
    if (!undeclared_.judge(index, fits)) return false;
    if (!fits) continue;
    Alike& alike = view_.alike_[view_.candidates_.group_of(index)->number];
    if (alike.size++ == 0) alike.any = index;
  }
  drop_empty();
  return true;
}

// The same, in each group only until a node is feasible: normalized scores depend on which groups are left.
bool ClassView::Attempt::find_one_of_each() {
  for (Alike& each : view_.alike_) {
    bool fits = false;
    for (const auto& [score, indices] : each.group->by_score) {
      for (auto index = indices.begin(); index != indices.end() && !fits; ++index) {
        if (!undeclared_.judge(*index, fits)) return false;
        if (fits) each.any = *index;
      }
      if (fits) break;
    }
    if (!fits) each.size = 0;
  }
  drop_empty();
  return true;
}

// Removes groups without a feasible node.
void ClassView::Attempt::drop_empty() {
  for (const Alike& each : view_.alike_) each.group->number = Candidates::Group::kNone;
  std::erase_if(view_.alike_, [](const Alike& each) { return each.size == 0; });
  feasible_ = 0;
  for (std::size_t i = 0; i < view_.alike_.size(); ++i) {
    view_.alike_[i].group->number = static_cast<std::uint32_t>(i);
    feasible_ += view_.alike_[i].size;
  }
}

bool ClassView::Attempt::filter(std::size_t start, bool all) {
  start_ = start;
  all_ = all;
  const UndeclaredPlugins& undeclared = view_.undeclared_;
  if (undeclared.any() && (!ask_pre_filters(undeclared.own) || !undeclared_.begin(undeclared, query_))) return false;
  if (!ask_pre_filters(view_.tracked_plugins_)) return false;
  // They run on the pod's own state only.
  view_.state_.skip_filter |= undeclared.filter;
  skip_sums();
  if (!hold_back_nominated() || !filter_groups()) return false;
  left_ = feasible_;
  const bool sure = !undeclared_.filters() || !(all || undeclared_.needs_all() || feasible_ <= 1);
  return sure || judge_all();
}

// True when the order of plugins here is that of the profile, so that the first one to reject a node is the same. Here
// SummingPlugins run after the others, and undeclared plugins last.
bool ClassView::Attempt::asks_in_order() const {
  int before = 0;
  for (const auto& entry : view_.framework_.filters()) {
    const bool undeclared = undeclared_.filters(entry.number);
    if (!undeclared && view_.state_.skip_filter.test(entry.number)) continue;
    const int rank = undeclared ? 2 : view_.sums(entry) ? 1 : 0;
    if (rank < before) return false;
    before = rank;
  }
  return true;
}

bool ClassView::Attempt::looks_at_one_node() const {
  const auto& asked = view_.framework_.pre_filters();
  return !view_.undeclared_.any() && view_.keys_.empty() &&
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
  for (const auto& [index, status] : undeclared_.rejected()) statuses.set(index, status);
  // With the pods nominated to a node the reasons for its rejection may be different.
  for (const auto& [node, pods] : nominator_.by_node()) {
    const std::size_t index = counts(pods) ? snapshot_.index_of(node) : snapshot_.nodes().size();
    if (view_.rejected_.find(index) == nullptr) continue;
    if (undeclared_.filters()) return std::nullopt;
    Status status = filter_with(pods, index);
    if (!status.is_rejected()) return std::nullopt;
    statuses.set(index, std::move(status));
  }
  return rejection;
}

bool ClassView::Attempt::fits(std::size_t index) {
  const auto node = static_cast<Candidates::Index>(index);
  bool fits = false;
  return is_feasible(node) && undeclared_.judge(node, fits) && fits;
}

}  // namespace berth
