#include "core/fastpath/class_view.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"
#include "core/fastpath/pod_class.h"

namespace berth {

ClassView::EquivalenceKeys ClassView::equivalence_keys_of(const Framework& framework, const Pod& pod) {
  EquivalenceKeys keys;
  for (const auto& entry : framework.filters()) {
    if (entry.tracking == nullptr || entry.plugin->reads(pod, Point::filter) != Reads::objects) continue;
    keys.emplace(entry.name, entry.tracking->equivalence_key(pod));
  }
  return keys;
}

ClassView::ClassView(const Framework& framework, const Pod& pod, EquivalenceKeys keys)
    : framework_(framework), keys_(std::move(keys)), pod_(pod) {
  pod_.shape = {};
  for (const auto& entry : framework_.filters()) {
    const auto key = keys_.find(entry.name);
    tracked_plugins_.set(entry.number, key != keys_.end() && key->second.has_value());
  }
  usable_ = find_undeclared();
}

bool ClassView::is_of(const Framework& framework, const Pod& pod, const EquivalenceKeys& keys, bool with_labels) const {
  return &framework == &framework_ && keys == keys_ && is_same_class(pod, pod_, with_labels);
}

// False: no view is possible. Who scores says what it reads, who sums does so at both of its points, and of those who
// filter one at least declares something.
bool ClassView::find_undeclared() {
  const auto is_declared = [this](const auto& entry, Point point) {
    const Reads reads = entry.plugin->reads(pod_, point);
    if (reads == Reads::objects) return tracked_plugins_.test(entry.number);
    return reads != Reads::anything && (reads == Reads::sums) == (entry.summing != nullptr);
  };
  bool possible = true;
  for (const auto& entry : framework_.pre_scores()) possible = possible && is_declared(entry, Point::pre_score);
  for (const auto& entry : framework_.scores()) possible = possible && is_declared(entry, Point::score);
  for (const auto& entry : framework_.pre_filters()) {
    if (!is_declared(entry, Point::pre_filter)) undeclared_.set(entry.number);
  }
  for (const auto& entry : framework_.filters()) {
    if (!is_declared(entry, Point::filter)) undeclared_.set(entry.number);
  }
  const auto follows = [](const auto& list, const auto& before) {
    return std::all_of(list.begin(), list.end(), [&before](const auto& entry) {
      return entry.summing == nullptr || std::any_of(before.begin(), before.end(), [&entry](const auto& other) {
               return other.number == entry.number;
             });
    });
  };
  const auto& filters = framework_.filters();
  return possible && follows(filters, framework_.pre_filters()) &&
         follows(framework_.scores(), framework_.pre_scores()) &&
         std::any_of(filters.begin(), filters.end(),
                     [this](const auto& each) { return !undeclared_.test(each.number); }) &&
         std::none_of(filters.begin(), filters.end(),
                      [this](const auto& each) { return each.summing != nullptr && undeclared_.test(each.number); });
}

std::string_view ClassView::follow(const Snapshot& snapshot, const Pod& pod) {
  if (!usable_) return declined::kNothingDeclared;
  const auto& summing = framework_.summing();
  const auto& changes = snapshot.changes();
  const auto behind = snapshot.changes_made() - changes_made_;
  bool holds = begun_ && images_changed_ == snapshot.images_changed() &&
               behind <= static_cast<std::int64_t>(changes.size()) &&
               std::all_of(summing.begin(), summing.end(),
                           [this](const SummingPlugin* plugin) { return plugin->sums_hold(state_, pod_); });
  if (holds && behind > 0 && !snapshot.images().empty()) {
    // How widely images are spread depends on how many nodes there are.
    holds = std::all_of(changes.end() - behind, changes.end(),
                        [](const auto& each) { return each.kind == Snapshot::Change::Kind::replaced; });
  }
  tracked_.clear();
  holds = holds && note_tracked_changes(snapshot);
  if (!holds) {
    pod_ = pod;  // what objects made of another may hold no more
    pod_.shape = {};
    begun_ = begin(snapshot);
  } else if (behind > 0 || !tracked_.empty()) {
    begun_ = catch_up(snapshot);
  }
  changes_made_ = snapshot.changes_made();
  return begun_ ? std::string_view() : declined::kBroke;  // what broke may hold next time
}

bool ClassView::note_tracked_changes(const Snapshot& snapshot) {
  return std::all_of(framework_.filters().begin(), framework_.filters().end(), [&](const auto& entry) {
    return !tracked_plugins_.test(entry.number) || entry.tracking->changed(state_, snapshot, tracked_);
  });
}

// PreFilter and PreScore of those who look at the class alone.
bool ClassView::ask_class(const Snapshot& snapshot) {
  state_ = CycleState();
  for (const auto& entry : framework_.pre_filters()) {
    if (entry.summing != nullptr || undeclared_.test(entry.number)) continue;
    PreFilterResult narrowed;
    const Status status = entry.plugin->pre_filter(state_, pod_, snapshot, narrowed);
    if (status.is_skip()) {
      state_.skip_filter.set(entry.number);
    } else if (!status.is_success() || narrowed.node_names) {
      return false;
    }
  }
  for (const auto& entry : framework_.pre_scores()) {
    if (entry.summing != nullptr) continue;
    const Status status = entry.plugin->pre_score(state_, pod_, {});
    if (status.is_skip()) {
      state_.skip_score.set(entry.number);
    } else if (!status.is_success()) {
      return false;
    }
  }
  return true;
}

bool ClassView::begin(const Snapshot& snapshot) {
  if (!ask_class(snapshot)) return false;
  images_changed_ = snapshot.images_changed();
  is_changed_.assign(snapshot.nodes().size(), 0);
  candidates_.reset(snapshot.nodes().size());
  rejected_.reset(snapshot.nodes().size());
  with_nominated_.clear();
  domains_ = Domains();
  for (SummingPlugin* plugin : framework_.summing()) plugin->begin_sums(state_, pod_, domains_);
  for (const auto& node : snapshot.nodes()) sum(*node, 1);
  return regroup(snapshot);
}

void ClassView::sum(const NodeInfo& node, std::int64_t times) {
  domains_.count(*node.node, times);
  for (SummingPlugin* plugin : framework_.summing()) plugin->sum(state_, pod_, node, times, domains_);
}

// Learns everything of the nodes again, but not the sums.
bool ClassView::regroup(const Snapshot& snapshot) {
  domains_.recount(snapshot);
  for (std::size_t index = 0; index < snapshot.nodes().size(); ++index) {
    if (!judge(static_cast<Candidates::Index>(index), snapshot)) return false;
  }
  return true;
}

void ClassView::follow_move(const Snapshot::Move& move) {
  for (const auto& [index, node] : move.gone) {
    if (is_changed_[index] == 0) sum(*node, -1);
  }
  std::vector<std::uint8_t> is_changed(move.from.size());
  changed_.clear();
  for (std::size_t index = 0; index < move.from.size(); ++index) {
    is_changed[index] = move.from[index] == Snapshot::Move::kNew ? 1 : is_changed_[move.from[index]];
    if (is_changed[index] != 0) changed_.push_back(index);
  }
  is_changed_ = std::move(is_changed);
  candidates_.move(move.from);
  rejected_.move(move.from);
  with_nominated_.clear();
}

void ClassView::follow_last(const Snapshot::Change& change) {
  if (change.kind == Snapshot::Change::Kind::came) {
    changed_.push_back(change.index);
  } else if (is_changed_[change.index] != 0) {
    std::erase(changed_, change.index);
  } else {
    sum(*change.before, -1);
  }
  const std::size_t nodes = change.kind == Snapshot::Change::Kind::came ? change.index + 1 : change.index;
  is_changed_.resize(nodes, 1);
  candidates_.resize(nodes);
  rejected_.resize(nodes);
  with_nominated_.erase(change.index);
}

// Each node that changed: its first state since leaves the sums, its last enters them.
bool ClassView::catch_up(const Snapshot& snapshot) {
  const auto& changes = snapshot.changes();
  changed_.clear();
  for (auto change = changes.end() - (snapshot.changes_made() - changes_made_); change != changes.end(); ++change) {
    switch (change->kind) {
      case Snapshot::Change::Kind::moved: follow_move(*change->move); break;
      case Snapshot::Change::Kind::came:
      case Snapshot::Change::Kind::went: follow_last(*change); break;
      case Snapshot::Change::Kind::replaced:
        if (std::exchange(is_changed_[change->index], 1) != 0) break;
        changed_.push_back(change->index);
        sum(*change->before, -1);
    }
  }
  for (const std::size_t index : changed_) {
    is_changed_[index] = 0;
    sum(*snapshot.nodes()[index], 1);
  }
  if (domains_.is_stale()) return regroup(snapshot);
  changed_.insert(changed_.end(), tracked_.begin(), tracked_.end());
  return std::all_of(changed_.begin(), changed_.end(),
                     [&](std::size_t index) { return judge(static_cast<Candidates::Index>(index), snapshot); });
}

// Puts the node into its group, or nowhere when a plugin that looks at it alone rejects it.
bool ClassView::judge(Candidates::Index index, const Snapshot& snapshot) {
  const NodeInfo& node = *snapshot.nodes()[index];
  for (const auto& entry : framework_.filters()) {
    if (entry.summing != nullptr || state_.skip_filter.test(entry.number) || undeclared_.test(entry.number)) continue;
    entry.count();
    Status status = entry.plugin->filter(state_, pod_, node);
    if (status.is_success()) continue;
    if (!status.is_rejected()) return false;
    candidates_.take(index);
    rejected_.set(index, std::move(status).with_plugin(entry.name));
    return true;
  }
  key_.clear();
  std::int64_t own = 0;
  for (const auto& entry : framework_.scores()) {
    if (entry.summing != nullptr || state_.skip_score.test(entry.number)) continue;
    std::int64_t score = 0;
    entry.count();
    if (!entry.plugin->score(state_, pod_, node, score).is_success()) return false;
    if (entry.normalizing != nullptr) {
      key_.push_back(score);
      continue;
    }
    if (score < 0 || score > ScorePlugin::kMaxScore) return false;
    own += score * entry.weight;
  }
  for (const SummingPlugin* plugin : framework_.summing()) plugin->add_traits(state_, pod_, node, domains_, key_);
  candidates_.put(index, key_, own);
  rejected_.clear(index);
  return true;
}

}  // namespace berth
