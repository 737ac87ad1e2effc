// Filter of one attempt on a view.
#include <algorithm>
#include <utility>

#include "core/fastpath/class_view.h"

namespace berth {

ClassView::Attempt::Attempt(ClassView& view, Undeclared& undeclared, const NodeQuery& query)
    : view_(view),
      scratch_(view.scratch_),
      undeclared_(undeclared),
      query_(query),
      own_state_(query.state),
      pod_(query.pod),
      snapshot_(query.snapshot),
      nominator_(nominator_of(query)) {
  scratch_.alike.clear();
  scratch_.refused.clear();
  undeclared_.begin_without();
}

ClassView::Attempt::~Attempt() {
  for (const auto& each : scratch_.held_back)
    view_.base_->ranks().put(each.index, view_.base_->ranks().group(each.key), each.score);
  scratch_.held_back.clear();
}

void ClassView::Attempt::hold_back(Ranks::Index index, Status status) {
  Ranks& ranks = view_.base_->ranks();
  scratch_.held_back.push_back({index, ranks.key_of(ranks.group_of(index)), ranks.score_of(index), std::move(status)});
  ranks.take(index);
}

// Runs PreFilter of these plugins on the pod's own state.
bool ClassView::Attempt::ask_pre_filters(const PluginBits& meant) {
  if (meant.none()) return true;
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
  if (view_.tracked_plugins_.none()) return true;
  for (const auto& entry : view_.framework_.filters()) {
    if (!view_.tracked_plugins_.test(entry.number) || own_state_.skip_filter.test(entry.number)) continue;
    entry.count();
    if (!entry.plugin->filter(own_state_, pod_, *snapshot_.nodes()[index]).is_success()) return false;
  }
  return true;
}

// Whether SummingPlugins skip Filter changes with their sums.
void ClassView::Attempt::skip_sums() {
  for (const auto* entry : view_.summing_pre_filters_) {
    view_.state_.skip_filter.set(entry->number, entry->summing->skips_filter(view_.state_, view_.pod_));
  }
}

// True when Filter has to count some of the pods nominated to a node.
bool ClassView::Attempt::counts(const std::vector<PodPtr>& nominated) const {
  return std::any_of(nominated.begin(), nominated.end(),
                     [this](const auto& each) { return each->priority >= pod_.priority && each->uid() != pod_.uid(); });
}

Status ClassView::Attempt::filter_with(const std::vector<PodPtr>& nominated, std::size_t index) const {
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
    const auto index = static_cast<Ranks::Index>(at);
    if (!view_.base_->ranks().contains(index)) continue;
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
  Ranks& ranks = view_.base_->ranks();
  for (const Ranks::Number group : ranks.groups()) {
    const Ranks::Index any = ranks.any_of(group);
    bool fits = true;
    for (const auto* entry : view_.summing_filters_) {
      if (view_.state_.skip_filter.test(entry->number)) continue;
      entry->count();
      Status status = entry->plugin->filter(view_.state_, pod_, *snapshot_.nodes()[any]);
      fits = status.is_success();
      if (fits) continue;
      if (!status.is_rejected()) return false;
      scratch_.refused.push_back({group, std::move(status).with_plugin(entry->name)});
      break;
    }
    if (fits) scratch_.alike.push_back({group, ranks.size_of(group), any, view_.base_->beyond_ranks(group)});
  }
  number_alike();
  return true;
}

void ClassView::Attempt::number_alike() {
  scratch_.alike_of.assign(view_.base_->ranks().number_end(), Ranks::kNone);
  feasible_ = 0;
  for (std::size_t i = 0; i < scratch_.alike.size(); ++i) {
    scratch_.alike_of[scratch_.alike[i].group] = static_cast<std::uint32_t>(i);
    feasible_ += scratch_.alike[i].size;
  }
}

// As far as is known: undeclared Filters may not have judged the node yet.
bool ClassView::Attempt::is_feasible(Ranks::Index index) const {
  const Ranks& ranks = view_.base_->ranks();
  return ranks.contains(index) && scratch_.alike_of[ranks.group_of(index)] != Ranks::kNone &&
         !undeclared_.is_rejected(index);
}

// Undeclared Filters, for every node that the other plugins accept.
bool ClassView::Attempt::judge_all() {
  judged_all_ = true;
  for (auto& each : scratch_.alike) each.size = 0;
  const std::size_t nodes = snapshot_.nodes().size();
  for (std::size_t turn = 0; turn < nodes; ++turn) {
    const auto index = static_cast<Ranks::Index>((start_ + turn) % nodes);
    if (!is_feasible(index)) continue;
    bool fits = false;
    if (!undeclared_.judge(index, fits)) return false;
    if (!fits) continue;
    auto& alike = scratch_.alike[scratch_.alike_of[view_.base_->ranks().group_of(index)]];
    if (alike.size++ == 0) alike.any = index;
  }
  drop_empty();
  return true;
}

// The same, in each group only until a node is feasible, the best first: normalized scores depend on which groups are
// left.
bool ClassView::Attempt::find_one_of_each() {
  const Ranks& ranks = view_.base_->ranks();
  std::vector<ViewScratch::Ranked>& nodes = scratch_.by_total;
  nodes.clear();
  for (Ranks::Index index = 0; index < snapshot_.nodes().size(); ++index) {
    if (is_feasible(index)) nodes.push_back({ranks.score_of(index), index});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return a.total != b.total ? a.total > b.total : a.index < b.index; });
  for (auto& each : scratch_.alike) each.size = 0;
  for (const auto& each : nodes) {
    auto& alike = scratch_.alike[scratch_.alike_of[ranks.group_of(each.index)]];
    if (alike.size > 0) continue;
    bool fits = false;
    if (!undeclared_.judge(each.index, fits)) return false;
    if (!fits) continue;
    alike.size = ranks.size_of(alike.group);
    alike.any = each.index;
  }
  drop_empty();
  return true;
}

// Removes groups without a feasible node.
void ClassView::Attempt::drop_empty() {
  std::erase_if(scratch_.alike, [](const auto& each) { return each.size == 0; });
  number_alike();
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

// Why SummingPlugins refuse the nodes of whole groups.
void ClassView::Attempt::set_refused(NodeStatuses& statuses) const {
  if (scratch_.refused.empty()) return;
  std::vector<const Status*> of_group(view_.base_->ranks().number_end());
  for (const auto& refused : scratch_.refused) of_group[refused.group] = &refused.status;
  view_.base_->ranks().list_groups(scratch_.groups);
  statuses.set_groups(scratch_.groups, of_group);
}

std::optional<Rejection> ClassView::Attempt::rejection() {
  if (!asks_in_order()) return std::nullopt;
  const NodeStatuses* rejected = view_.base_->rejected(snapshot_);
  if (rejected == nullptr) return std::nullopt;
  Rejection rejection{*rejected, looks_at_one_node() ? &view_.state_ : nullptr};
  NodeStatuses& statuses = rejection.node_statuses;
  set_refused(statuses);
  for (const auto& each : scratch_.held_back) statuses.set(each.index, each.status);
  for (const auto& [index, status] : undeclared_.rejected()) statuses.set(index, status);
  // With the pods nominated to a node the reasons for its rejection may be different.
  for (const auto& [node, pods] : nominator_.by_node()) {
    const std::size_t index = counts(pods) ? snapshot_.index_of(node) : snapshot_.nodes().size();
    if (rejected->find(index) == nullptr) continue;
    if (undeclared_.filters()) return std::nullopt;
    Status status = filter_with(pods, index);
    if (!status.is_rejected()) return std::nullopt;
    statuses.set(index, std::move(status));
  }
  return rejection;
}

bool ClassView::Attempt::fits(std::size_t index) {
  const auto node = static_cast<Ranks::Index>(index);
  bool fits = false;
  return is_feasible(node) && undeclared_.judge(node, fits) && fits;
}

}  // namespace berth
