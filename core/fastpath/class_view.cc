#include "core/fastpath/class_view.h"

#include <algorithm>
#include <iterator>
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

// False: what happened cannot be followed change by change.
bool ClassView::holds(const Snapshot& snapshot) const {
  const auto& objects = snapshot.object_changes();
  if (!begun_ || !snapshot.changed().reaches(changes_made_) || !objects.reaches(object_changes_made_)) return false;
  if (!sums_.active().empty() && !snapshot.pod_changes().reaches(pod_changes_made_)) return false;
  if (!sums_.hold(snapshot)) return false;
  if (!snapshot.has_images()) return true;
  // The spread of an image depends on the number of nodes.
  const auto missed = objects.since(object_changes_made_);
  return std::all_of(missed.begin(), missed.end(),
                     [](const auto& each) { return each.kind == Snapshot::ObjectChange::Kind::replaced; });
}

std::string_view ClassView::follow(const Snapshot& snapshot, const Pod& pod) {
  if (undeclared_.all) return declined::kNothingDeclared;
  scratch_.tracked.clear();
  if (!holds(snapshot) || !note_tracked_changes(snapshot) || !follow_object_answers(snapshot)) {
    pod_ = pod;  // the objects of the previous one may have changed
    if (keys_.empty()) pod_.shape = {};
    begun_ = begin(snapshot);
  } else if (changes_made_ != snapshot.changed().made() || !scratch_.tracked.empty()) {
    why_not_begun_ = declined::kBroke;
    begun_ = catch_up(snapshot);
  }
  changes_made_ = snapshot.changed().made();
  pod_changes_made_ = snapshot.pod_changes().made();
  object_changes_made_ = snapshot.object_changes().made();
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

bool ClassView::catch_up(const Snapshot& snapshot) {
  const auto indices = snapshot.changed().since(changes_made_);
  std::vector<std::uint32_t>& first_change_of = scratch_.first_change_of;
  if (first_change_of.size() < snapshot.nodes().size()) first_change_of.resize(snapshot.nodes().size());
  if (object_changes_made_ == snapshot.object_changes().made()) {
    if (!sums_.active().empty()) follow_pods(snapshot);
    return judge_changed(indices, snapshot);  // to judge a node twice does no harm
  }
  follow_objects(snapshot);
  if (ranks_.size() != snapshot.nodes().size()) {
    ranks_.resize(snapshot.nodes().size());
    if (tells_why_) rejected_.resize(snapshot.nodes().size());
  }
  scratch_.changed.clear();
  std::copy_if(indices.begin(), indices.end(), std::back_inserter(scratch_.changed),
               [&snapshot](Ranks::Index index) { return index < snapshot.nodes().size(); });
  const bool judged = judge_changed(scratch_.changed, snapshot);
  for (const auto* each : scratch_.first_changes) first_change_of[each->index] = 0;
  return judged;
}

// Notes which nodes' objects changed, and sums what came and went.
void ClassView::follow_objects(const Snapshot& snapshot) {
  std::vector<const Snapshot::ObjectChange*>& firsts = scratch_.first_changes;
  firsts.clear();
  for (const Snapshot::ObjectChange& change : snapshot.object_changes().since(object_changes_made_)) {
    if (change.kind == Snapshot::ObjectChange::Kind::went) with_nominated_.erase(change.index);
    if (change.index >= scratch_.first_change_of.size()) scratch_.first_change_of.resize(change.index + 1);
    std::uint32_t& first = scratch_.first_change_of[change.index];
    if (first != 0) continue;
    firsts.push_back(&change);
    first = static_cast<std::uint32_t>(firsts.size());
  }
  if (sums_.active().empty()) return;
  follow_pods(snapshot);
  sum_objects(snapshot);
}

// Pods that came or went before the first change of their node's object are summed with the old object, the later ones
// by sum_objects().
void ClassView::follow_pods(const Snapshot& snapshot) {
  scratch_.later_pods.clear();
  const bool any_object = object_changes_made_ != snapshot.object_changes().made();
  std::int64_t made = pod_changes_made_;
  for (const PodKinds::Change& change : snapshot.pod_changes().since(pod_changes_made_)) {
    const std::int64_t before = made++;
    if (sums_.is_out(change)) continue;
    const std::uint32_t first = any_object ? scratch_.first_change_of[change.index] : 0;
    if (first == 0) {
      sums_.follow(change, *snapshot.nodes()[change.index]->node, snapshot);
      continue;
    }
    const Snapshot::ObjectChange& object = *scratch_.first_changes[first - 1];
    if (before < object.pod_changes_made) {
      sums_.follow(change, *object.before->node, snapshot);
    } else {
      scratch_.later_pods.push_back(&change);
    }
  }
}

// A node whose object changed loses what it had just before the first such change, and gets what it has now. Of most
// nodes that is the node itself, and the pods that came since: no pod that counts was there.
void ClassView::sum_objects(const Snapshot& snapshot) {
  std::vector<const Snapshot::ObjectChange*>& firsts = scratch_.first_changes;
  const auto whole = std::partition(firsts.begin(), firsts.end(), [this](const auto* each) {
    return each->before != nullptr && !sums_.touched().contains(each->index);
  });
  const auto is_there = [&snapshot](const auto* each) { return each->index < snapshot.nodes().size(); };
  for (auto each = whole; each != firsts.end(); ++each) {
    scratch_.first_change_of[(*each)->index] = UpdateScratch::kWhole;
    if ((*each)->before != nullptr) sums_.add_whole((*each)->index, *(*each)->before, -1);
  }
  for (auto each = firsts.begin(); each != whole; ++each) {
    sums_.add_node(*(*each)->before->node, -1);
    if (is_there(*each)) sums_.add_node(*snapshot.nodes()[(*each)->index]->node, 1);
  }
  for (const PodKinds::Change* change : scratch_.later_pods) {
    if (scratch_.first_change_of[change->index] == UpdateScratch::kWhole || !is_there(change)) continue;
    sums_.follow(*change, *snapshot.nodes()[change->index]->node, snapshot);
  }
  for (auto each = whole; each != firsts.end(); ++each) {
    if (is_there(*each)) sums_.add_whole((*each)->index, *snapshot.nodes()[(*each)->index], 1);
  }
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
