#include "core/fastpath/class_view.h"

#include <algorithm>
#include <limits>
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

ClassView::ClassView(const Framework& framework, const Pod& pod, EquivalenceKeys keys, ObjectAnswers& answers,
                     ViewScratch& scratch)
    : framework_(framework), answers_(answers), scratch_(scratch), keys_(std::move(keys)), pod_(pod) {
  if (keys_.empty()) pod_.shape = {};  // only what is tracked may depend on the manifest
  for (const auto& entry : framework_.filters()) {
    const auto key = keys_.find(entry.name);
    tracked_plugins_.set(entry.number, key != keys_.end() && key->second.has_value());
  }
  undeclared_ = UndeclaredPlugins::of(framework_, pod_, tracked_plugins_);
  const auto note_summing = [this](const auto& list) {
    for (const auto& entry : list) {
      if (sums(entry)) sums_.add(entry.summing);
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
  bool holds = begun_ && behind <= static_cast<std::int64_t>(changes.size()) && sums_.hold(snapshot);
  if (holds && behind > 0 && snapshot.has_images()) {
    // The spread of an image depends on the number of nodes.
    holds = std::all_of(changes.end() - behind, changes.end(),
                        [](const auto& each) { return each.kind == Snapshot::Change::Kind::replaced; });
  }
  scratch_.tracked.clear();
  holds = holds && note_tracked_changes(snapshot) && follow_object_answers(snapshot);
  if (!holds) {
    pod_ = pod;  // the objects of the previous one may have changed
    if (keys_.empty()) pod_.shape = {};
    begun_ = begin(snapshot);
  } else if (behind > 0 || !scratch_.tracked.empty()) {
    why_not_begun_ = declined::kBroke;
    begun_ = catch_up(snapshot);
  }
  changes_made_ = snapshot.changes_made();
  object_changes_made_ = snapshot.object_changes_made();
  return begun_ ? std::string_view() : why_not_begun_;  // tried again for the next pod
}

bool ClassView::note_tracked_changes(const Snapshot& snapshot) {
  return std::all_of(framework_.filters().begin(), framework_.filters().end(), [&](const auto& entry) {
    return !tracked_plugins_.test(entry.number) || entry.tracking->changed(state_, snapshot, scratch_.tracked);
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
      return fail(declined::kPreFilter);
    }
  }
  // Counted only where the view goes on: otherwise PreFilter runs again, and is counted then.
  for (const auto& entry : framework_.pre_filters()) {
    if (sums(entry) || undeclared_.filter.test(entry.number) || state_.skip_filter.test(entry.number)) continue;
    entry.count();
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

// The answers of plugins that read nodes' objects alone are shared with other classes.
bool ClassView::take_object_answers(const Snapshot& snapshot) {
  auto kept = std::make_shared<Pod>(pod_);
  kept->shape = {};
  object_filters_.assign(framework_.filters().size(), {});
  object_scores_.assign(framework_.scores().size(), {});
  for (std::size_t place = 0; place < object_filters_.size(); ++place) {
    const auto& entry = framework_.filters()[place];
    if (!filters(entry) || entry.plugin->reads(pod_, Point::filter) != Reads::node_object) continue;
    object_filters_[place].answer = answers_.of_filter(place, kept);
  }
  for (std::size_t place = 0; place < object_scores_.size(); ++place) {
    const auto& entry = framework_.scores()[place];
    if (!scores(entry) || entry.plugin->reads(pod_, Point::score) != Reads::node_object) continue;
    object_scores_[place].answer = answers_.of_score(place, kept);
  }
  // The first call takes note of what is the same for all nodes, the second one finds no difference.
  follow_object_answers(snapshot);
  return follow_object_answers(snapshot);
}

// False: a plugin failed, or what was the same for all nodes is so no longer, or the other way round.
bool ClassView::follow_object_answers(const Snapshot& snapshot) {
  bool holds = true;
  const auto note = [&holds](OfObjects& of) {
    holds = holds && of.was_uniform == of.answer->uniform && (!of.was_uniform || of.was_same == of.answer->same);
    of.was_uniform = of.answer->uniform;
    of.was_same = of.answer->same;
  };
  for (std::size_t place = 0; place < object_filters_.size(); ++place) {
    OfObjects& of = object_filters_[place];
    if (of.answer == nullptr) continue;
    if (!answers_.follow_filter(place, *of.answer, state_, pod_, snapshot)) return false;
    note(of);
  }
  for (std::size_t place = 0; place < object_scores_.size(); ++place) {
    OfObjects& of = object_scores_[place];
    if (of.answer == nullptr) continue;
    if (!answers_.follow_score(place, *of.answer, state_, pod_, snapshot)) return false;
    note(of);
  }
  return holds;
}

// Whether nodes can have different traits. False: own scores of so large weights need more than 32 bits.
bool ClassView::note_shape() {
  most_own_ = 0;
  normalizing_ = 0;
  one_group_ = domains_.keys().empty();
  groups_by_object_ = true;
  for (std::size_t place = 0; place < object_scores_.size(); ++place) {
    const auto& entry = framework_.scores()[place];
    if (!scores(entry)) continue;
    if (entry.normalizing == nullptr) {
      most_own_ += ScorePlugin::kMaxScore * entry.weight;
    } else {
      ++normalizing_;
      groups_by_object_ = groups_by_object_ && object_scores_[place].answer != nullptr;
      one_group_ = one_group_ && object_scores_[place].answer != nullptr && object_scores_[place].was_uniform;
    }
  }
  one_group_ = one_group_ && most_own_ <= Ranks::kMostScore;
  groups_by_object_ = groups_by_object_ && most_own_ <= Ranks::kMostScore;
  if (most_own_ <= std::numeric_limits<std::int32_t>::max()) return true;
  return fail(declined::kTotals);
}

bool ClassView::begin(const Snapshot& snapshot) {
  why_not_begun_ = declined::kBroke;
  if (!ask_class(snapshot)) return false;
  with_nominated_.clear();
  sums_.begin(snapshot);
  return take_object_answers(snapshot) && regroup(snapshot);
}

// Judges all nodes again; the sums stay.
bool ClassView::regroup(const Snapshot& snapshot) {
  domains_.follow(snapshot);
  if (!note_shape()) return false;
  ranks_.reset(snapshot.nodes().size());
  if (tells_why_) rejected_.reset(snapshot.nodes().size());
  return judge(Rows::all(snapshot), snapshot);
}

// A node whose object changed loses, with the first such change, all that it had just before, and gains all that it has
// now in the end. Otherwise the pods that came and went are summed, before the first change with the node's old object.
void ClassView::note_object_changes(const Snapshot& snapshot) {
  std::vector<std::uint8_t>& flags = scratch_.flags;
  scratch_.old_objects.clear();
  const auto& changes = snapshot.changes();
  for (auto change = changes.end() - (snapshot.changes_made() - changes_made_); change != changes.end(); ++change) {
    if (!change->is_object) continue;
    if (change->index >= flags.size()) flags.resize(change->index + 1, 0);
    flags[change->index] |= UpdateScratch::kObject;
    scratch_.old_objects.try_emplace(change->index, change->before == nullptr ? nullptr : change->before->node.get());
  }
}

void ClassView::follow_replaced(const Snapshot::Change& change, const Snapshot& snapshot) {
  std::uint8_t& flags = scratch_.flags[change.index];
  if ((flags & UpdateScratch::kChanged) == 0) {
    flags |= UpdateScratch::kChanged;
    scratch_.changed.push_back(static_cast<Ranks::Index>(change.index));
  }
  if ((flags & UpdateScratch::kGone) != 0 || sums_.active().empty()) return;
  if (change.is_object) {
    flags |= UpdateScratch::kGone;
    return sums_.add_whole(change.index, *change.before, -1);
  }
  const bool is_old = (flags & UpdateScratch::kObject) != 0;
  const Node& node = is_old ? *scratch_.old_objects.at(change.index) : *snapshot.nodes()[change.index]->node;
  sums_.follow(change, node, snapshot);
}

// A node came as the last one, or the last one went.
void ClassView::follow_last(const Snapshot::Change& change) {
  std::vector<std::uint8_t>& flags = scratch_.flags;
  const bool came = change.kind == Snapshot::Change::Kind::came;
  if (change.index >= flags.size()) flags.resize(change.index + 1, 0);
  if (came) {
    scratch_.changed.push_back(static_cast<Ranks::Index>(change.index));
    flags[change.index] = UpdateScratch::kChanged | UpdateScratch::kObject | UpdateScratch::kGone;
  } else {
    const std::uint8_t had = std::exchange(flags[change.index], std::uint8_t{0});
    if ((had & UpdateScratch::kChanged) != 0) std::erase(scratch_.changed, static_cast<Ranks::Index>(change.index));
    if ((had & UpdateScratch::kGone) == 0 && !sums_.active().empty()) sums_.add_whole(change.index, *change.before, -1);
  }
  const std::size_t nodes = came ? change.index + 1 : change.index;
  ranks_.resize(nodes);
  if (tells_why_) rejected_.resize(nodes);
  with_nominated_.erase(change.index);
}

bool ClassView::catch_up(const Snapshot& snapshot) {
  const auto& changes = snapshot.changes();
  std::vector<Ranks::Index>& changed = scratch_.changed;
  std::vector<std::uint8_t>& flags = scratch_.flags;
  changed.clear();
  if (flags.size() < ranks_.size()) flags.resize(ranks_.size(), 0);
  const std::int64_t behind = snapshot.changes_made() - changes_made_;
  if (object_changes_made_ == snapshot.object_changes_made()) {
    for (auto change = changes.end() - behind; change != changes.end() && !sums_.active().empty(); ++change) {
      sums_.follow(*change, *snapshot.nodes()[change->index]->node, snapshot);
    }
    // To judge a node twice does no harm.
    return judge_changed(snapshot.last_changed(static_cast<std::size_t>(behind)), snapshot);
  }
  note_object_changes(snapshot);
  for (auto change = changes.end() - behind; change != changes.end(); ++change) {
    if (change->kind == Snapshot::Change::Kind::replaced) {
      follow_replaced(*change, snapshot);
    } else {
      follow_last(*change);
    }
  }
  for (const Ranks::Index index : changed) {
    const bool whole = (flags[index] & UpdateScratch::kObject) != 0;
    if (whole && !sums_.active().empty()) sums_.add_whole(index, *snapshot.nodes()[index], 1);
  }
  const bool judged = judge_changed(changed, snapshot);
  for (auto change = changes.end() - behind; change != changes.end(); ++change) flags[change->index] = 0;
  return judged;
}

// Judges these nodes again, and those that plugins follow.
bool ClassView::judge_changed(std::span<const Ranks::Index> indices, const Snapshot& snapshot) {
  if (!domains_.follow(snapshot)) return regroup(snapshot);
  ranks_.prefetch(indices);
  if (scratch_.tracked.empty()) return judge(Rows::at(snapshot, indices, scratch_.copies), snapshot);
  std::vector<Ranks::Index>& all = scratch_.changed;
  if (indices.data() != all.data()) all.assign(indices.begin(), indices.end());
  for (const std::size_t index : scratch_.tracked) all.push_back(static_cast<Ranks::Index>(index));
  return judge(Rows::at(snapshot, all, scratch_.copies), snapshot);
}

std::size_t ClassView::bytes() const {
  constexpr std::size_t kRest = 4096;  // the pod, what plugins keep in the state
  return kRest + ranks_.bytes() + sums_.bytes() + (tells_why_ ? ranks_.size() * sizeof(std::uint32_t) : 0);
}

}  // namespace berth
