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
  if (keys_.empty()) pod_.shape = {};  // only what is tracked may depend on the manifest
  for (const auto& entry : framework_.filters()) {
    const auto key = keys_.find(entry.name);
    tracked_plugins_.set(entry.number, key != keys_.end() && key->second.has_value());
  }
  undeclared_ = UndeclaredPlugins::of(framework_, pod_, tracked_plugins_);
  const auto note_summing = [this](const auto& list) {
    for (const auto& entry : list) {
      if (!sums(entry)) continue;
      if (std::find(summing_.begin(), summing_.end(), entry.summing) == summing_.end()) {
        summing_.push_back(entry.summing);
      }
    }
  };
  note_summing(framework_.pre_filters());
  note_summing(framework_.pre_scores());
}

bool ClassView::is_of(const Framework& framework, const Pod& pod, const EquivalenceKeys& keys, bool with_labels) const {
  return &framework == &framework_ && keys == keys_ && is_same_class(pod, pod_, with_labels);
}

std::string_view ClassView::follow(const Snapshot& snapshot, const Pod& pod) {
  if (undeclared_.all) return declined::kNothingDeclared;
  const auto& changes = snapshot.changes();
  const auto behind = snapshot.changes_made() - changes_made_;
  bool holds = begun_ && behind <= static_cast<std::int64_t>(changes.size()) &&
               std::all_of(summing_.begin(), summing_.end(),
                           [this](const SummingPlugin* plugin) { return plugin->sums_hold(state_, pod_); });
  if (holds && behind > 0 && snapshot.has_images()) {
    // The spread of an image depends on the number of nodes.
    holds = std::all_of(changes.end() - behind, changes.end(),
                        [](const auto& each) { return each.kind == Snapshot::Change::Kind::replaced; });
  }
  tracked_.clear();
  holds = holds && note_tracked_changes(snapshot);
  if (!holds) {
    pod_ = pod;  // the objects of the previous one may have changed
    if (keys_.empty()) pod_.shape = {};
    begun_ = begin(snapshot);
  } else if (behind > 0 || !tracked_.empty()) {
    begun_ = catch_up(snapshot);
    why_not_begun_ = declined::kBroke;
  }
  changes_made_ = snapshot.changes_made();
  return begun_ ? std::string_view() : why_not_begun_;  // tried again for the next pod
}

bool ClassView::note_tracked_changes(const Snapshot& snapshot) {
  return std::all_of(framework_.filters().begin(), framework_.filters().end(), [&](const auto& entry) {
    return !tracked_plugins_.test(entry.number) || entry.tracking->changed(state_, snapshot, tracked_);
  });
}

// PreFilter and PreScore of plugins for which they depend on the class alone.
bool ClassView::ask_class(const Snapshot& snapshot) {
  state_ = CycleState();
  for (const auto& entry : framework_.pre_filters()) {
    if (sums(entry) || undeclared_.filter.test(entry.number)) continue;
    PreFilterResult narrowed;
    const Status status = entry.plugin->pre_filter(state_, pod_, snapshot, narrowed);
    if (status.is_skip()) {
      state_.skip_filter.set(entry.number);
    } else if (!status.is_success() || narrowed.node_names) {
      why_not_begun_ = declined::kPreFilter;
      return false;
    }
  }
  for (const auto& entry : framework_.pre_scores()) {
    if (sums(entry) || undeclared_.own.test(entry.number)) continue;
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
  why_not_begun_ = declined::kBroke;
  if (!ask_class(snapshot)) return false;
  is_changed_.assign(snapshot.nodes().size(), 0);
  candidates_.reset(snapshot.nodes().size());
  rejected_.reset(snapshot.nodes().size());
  with_nominated_.clear();
  domains_ = Domains();
  for (SummingPlugin* plugin : summing_) plugin->begin_sums(state_, pod_, domains_);
  for (const auto& node : snapshot.nodes()) sum(*node, 1);
  return regroup(snapshot);
}

void ClassView::sum(const NodeInfo& node, std::int64_t times) {
  domains_.count(*node.node, times);
  for (SummingPlugin* plugin : summing_) plugin->sum(state_, pod_, node, times, domains_);
}

// Judges all nodes again; the sums stay.
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

// For each changed node the sums lose its state at the last update and gain its current one.
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

// Adds the node to its group, or removes it when a plugin that depends on the node alone rejects it.
bool ClassView::judge(Candidates::Index index, const Snapshot& snapshot) {
  const NodeInfo& node = *snapshot.nodes()[index];
  for (const auto& entry : framework_.filters()) {
    if (sums(entry) || state_.skip_filter.test(entry.number) || undeclared_.filter.test(entry.number)) continue;
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
    if (sums(entry) || state_.skip_score.test(entry.number) || undeclared_.own.test(entry.number)) continue;
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
  for (const SummingPlugin* plugin : summing_) plugin->add_traits(state_, pod_, node, domains_, key_);
  candidates_.put(index, key_, own);
  rejected_.clear(index);
  return true;
}

}  // namespace berth
