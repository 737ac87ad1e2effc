#include "core/fastpath/base_view.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/fastpath/attempt.h"
#include "core/fastpath/pod_class.h"

namespace berth {

BaseView::BaseView(const Common& common, const Of& of, bool with_images)
    : common_(common),
      pod_(of.pod),
      tracked_(of.tracked),
      sums_(of.sums),
      with_images_(with_images),
      asked_{of.undeclared, {}, {}},
      domains_(of.domains),
      counted_(common.bytes) {}

bool BaseView::serves(const Pod& pod, const Domains& domains, bool with_images) const {
  if (with_images != with_images_) return false;
  const auto& keys = domains.keys();
  const auto& own = domains_.keys();
  if (!std::equal(keys.begin(), keys.end(), own.begin(), own.end(),
                  [](const auto& a, const auto& b) { return a.name == b.name; })) {
    return false;
  }
  const auto is_alike = [&](const auto& entry) {
    return !asked_.take_part(entry) || !entry.plugin->tells_apart(pod, pod_);
  };
  const auto& filters = common_.framework.filters();
  const auto& scores = common_.framework.scores();
  const auto& pre_filters = common_.framework.pre_filters();
  const auto& pre_scores = common_.framework.pre_scores();
  return std::all_of(pre_filters.begin(), pre_filters.end(), is_alike) &&
         std::all_of(pre_scores.begin(), pre_scores.end(), is_alike) &&
         std::all_of(filters.begin(), filters.end(), is_alike) && std::all_of(scores.begin(), scores.end(), is_alike);
}

// False: what happened cannot be followed change by change.
bool BaseView::holds(const Snapshot& snapshot) const {
  const auto& objects = snapshot.object_changes();
  if (!is_begun_ || !snapshot.changed().reaches(changes_made_) || !objects.reaches(object_changes_made_)) return false;
  if (!snapshot.has_images()) return true;
  // The spread of an image depends on the number of nodes.
  const auto missed = objects.since(object_changes_made_);
  return std::all_of(missed.begin(), missed.end(),
                     [](const auto& each) { return each.kind == Snapshot::ObjectChange::Kind::replaced; });
}

std::string_view BaseView::follow(const Snapshot& snapshot, const Pod& pod) {
  follow_some(snapshot, pod, snapshot.nodes().size());
  return is_begun_ ? std::string_view() : why_not_begun_;  // tried again for the next pod
}

bool BaseView::prepare(const Snapshot& snapshot, const Pod& pod, std::size_t most) {
  const bool was_judged = judged_ == snapshot.nodes().size();
  follow_some(snapshot, pod, most);
  if (was_judged && is_begun_ && !is_prepared(snapshot)) is_begun_ = tell_next(snapshot, most);
  return is_begun_ && !is_prepared(snapshot);
}

// Where no node is left, the decision will have to tell why.
bool BaseView::is_prepared(const Snapshot& snapshot) const {
  if (!holds(snapshot)) return false;
  const std::size_t nodes = snapshot.nodes().size();
  const bool has_told = tells_why_ && told_ == nodes;
  return !asks_nodes_ || (judged_ == nodes && (has_told || !ranks_.groups().empty()));
}

// Nodes that the view has not judged yet are judged when their turn comes, whatever happens to them meanwhile.
void BaseView::follow_some(const Snapshot& snapshot, const Pod& pod, std::size_t most) {
  common_.scratch.tracked.clear();
  // Answers about objects that are the same are the same.
  const auto follow_objects = [&] {
    return object_changes_made_ == snapshot.object_changes().made() || follow_object_answers(snapshot);
  };
  if (!holds(snapshot) || !note_tracked_changes(snapshot) || !follow_objects()) {
    pod_ = pod;  // the objects of the previous one may have changed
    if (tracked_.none()) pod_.shape = {};
    is_begun_ = begin(snapshot);
  } else if (changes_made_ != snapshot.changed().made() || !common_.scratch.tracked.empty()) {
    why_not_begun_ = declined::kBroke;
    is_begun_ = catch_up(snapshot);
  }
  if (is_begun_ && judged_ < snapshot.nodes().size()) is_begun_ = judge_next(snapshot, most);
  changes_made_ = snapshot.changed().made();
  object_changes_made_ = snapshot.object_changes().made();
  constexpr std::size_t kRest = 2048;  // the pod, what plugins keep in the state
  counted_.set(kRest + ranks_.bytes() + (tells_why_ ? ranks_.size() * sizeof(std::uint32_t) : 0));
}

bool BaseView::note_tracked_changes(const Snapshot& snapshot) {
  if (tracked_.none()) return true;
  const auto& filters = common_.framework.filters();
  return std::all_of(filters.begin(), filters.end(), [&](const auto& entry) {
    return !tracked_.test(entry.number) || entry.tracking->changed(asked_.state, snapshot, common_.scratch.tracked);
  });
}

// PreFilter and PreScore of plugins for which they depend on the class alone.
bool BaseView::ask_class(const Snapshot& snapshot) {
  asked_.state = CycleState();
  for (const auto& entry : common_.framework.pre_filters()) {
    if (!asked_.take_part(entry) || asked_.undeclared.filter.test(entry.number)) continue;
    PreFilterResult narrowed;
    const Status status = entry.plugin->pre_filter(asked_.state, pod_, snapshot, narrowed);
    if (status.is_skip()) {
      asked_.state.skip_filter.set(entry.number);
    } else if (!status.is_success() || narrowed.node_names) {
      return fail(declined::kPreFilter);
    }
  }
  asked_.accept_all.reset();
  for (const auto& entry : common_.framework.filters()) {
    const bool is_tracked = entry.plugin->reads(pod_, Point::filter) == Reads::objects;
    if (asked_.filter(entry) && !is_tracked && entry.plugin->accepts_all(asked_.state, pod_))
      asked_.accept_all.set(entry.number);
  }
  // Counted only where the view goes on: otherwise PreFilter runs again, and is counted then.
  for (const auto& entry : common_.framework.pre_filters()) {
    if (!asked_.take_part(entry) || asked_.undeclared.filter.test(entry.number) ||
        asked_.state.skip_filter.test(entry.number))
      continue;
    entry.count();
  }
  for (const auto& entry : common_.framework.pre_scores()) {
    if (!asked_.take_part(entry) || asked_.undeclared.own.test(entry.number)) continue;
    const Status status = entry.plugin->pre_score(asked_.state, pod_, {});
    if (status.is_skip()) {
      asked_.state.skip_score.set(entry.number);
    } else if (!status.is_success()) {
      return false;
    }
  }
  return true;
}

// The answers of plugins that read nodes' objects alone are shared with other classes.
bool BaseView::take_object_answers(const Snapshot& snapshot) {
  auto kept = make_counted<Pod>(pod_);
  kept->shape = {};
  object_filters_.assign(common_.framework.filters().size(), {});
  object_scores_.assign(common_.framework.scores().size(), {});
  asked_filters_.clear();
  for (std::size_t place = 0; place < object_filters_.size(); ++place) {
    const auto& entry = common_.framework.filters()[place];
    if (asked_.filter(entry)) asked_filters_.push_back(place);
    if (!asked_.filter(entry) || entry.plugin->reads(pod_, Point::filter) != Reads::node_object) continue;
    object_filters_[place].answer = common_.answers.of_filter(place, kept);
  }
  for (std::size_t place = 0; place < object_scores_.size(); ++place) {
    const auto& entry = common_.framework.scores()[place];
    if (!asked_.score(entry) || entry.plugin->reads(pod_, Point::score) != Reads::node_object) continue;
    object_scores_[place].answer = common_.answers.of_score(place, kept);
  }
  // The first call takes note of what is the same for all nodes, the second one finds no difference.
  follow_object_answers(snapshot);
  return follow_object_answers(snapshot);
}

// False: a plugin failed, or what was the same for all nodes is so no longer, or the other way round.
bool BaseView::follow_object_answers(const Snapshot& snapshot) {
  bool holds = true;
  const auto note = [&holds](OfObjects& of) {
    holds = holds && of.was_uniform == of.answer->uniform && (!of.was_uniform || of.was_same == of.answer->same);
    of.was_uniform = of.answer->uniform;
    of.was_same = of.answer->same;
  };
  for (std::size_t place = 0; place < object_filters_.size(); ++place) {
    OfObjects& of = object_filters_[place];
    if (of.answer == nullptr) continue;
    if (!common_.answers.follow_filter(place, *of.answer, asked_.state, pod_, snapshot)) return false;
    note(of);
  }
  for (std::size_t place = 0; place < object_scores_.size(); ++place) {
    OfObjects& of = object_scores_[place];
    if (of.answer == nullptr) continue;
    if (!common_.answers.follow_score(place, *of.answer, asked_.state, pod_, snapshot)) return false;
    note(of);
  }
  return holds;
}

// Whether nodes can have different traits. False: own scores of so large weights need more than 32 bits.
bool BaseView::note_shape() {
  most_own_ = 0;
  normalizing_ = 0;
  one_group_ = domains_.keys().empty();
  groups_by_object_ = true;
  for (std::size_t place = 0; place < object_scores_.size(); ++place) {
    const auto& entry = common_.framework.scores()[place];
    if (!asked_.score(entry)) continue;
    if (entry.normalizing == nullptr) {
      most_own_ += ScorePlugin::kMaxScore * entry.weight;
    } else {
      object_scores_[place].in_key = normalizing_++;
      groups_by_object_ = groups_by_object_ && object_scores_[place].answer != nullptr;
      one_group_ = one_group_ && object_scores_[place].answer != nullptr && object_scores_[place].was_uniform;
    }
  }
  one_group_ = one_group_ && most_own_ <= Ranks::kMostScore;
  groups_by_object_ = groups_by_object_ && most_own_ <= Ranks::kMostScore;
  if (most_own_ <= std::numeric_limits<std::int32_t>::max()) return true;
  return fail(declined::kTotals);
}

bool BaseView::begin(const Snapshot& snapshot) {
  why_not_begun_ = declined::kBroke;
  ++begun_;
  return ask_class(snapshot) && note_tracked_changes(snapshot) && take_object_answers(snapshot) &&
         begin_judging(snapshot);
}

// All nodes are to be judged again.
bool BaseView::begin_judging(const Snapshot& snapshot) {
  domains_.follow(snapshot);
  if (!note_shape()) return false;
  judged_ = 0;
  asks_nodes_ = false;
  ranks_.reset(snapshot.nodes().size());
  tells_why_ = false;  // until it is asked for: for all nodes at once that takes least
  return true;
}

// Judges so many of the nodes that are left: few at first, to see whether plugins have to be asked about each. Where
// batches do it, all nodes at once take the least time.
bool BaseView::judge_next(const Snapshot& snapshot, std::size_t most) {
  constexpr std::size_t kSample = 64;
  const std::size_t nodes = snapshot.nodes().size();
  const bool goes_on = judged_ > 0 && asks_nodes_;
  if (most >= nodes && !goes_on) {
    if (judged_ > 0 && !begin_judging(snapshot)) return false;
    judged_ = nodes;
    return judge(Rows::all(snapshot), snapshot);
  }
  return judge(common_.scratch.rows_from(judged_, goes_on ? most : std::min(kSample, most), snapshot), snapshot);
}

bool BaseView::catch_up(const Snapshot& snapshot) {
  ViewScratch& scratch = common_.scratch;
  const std::size_t nodes = snapshot.nodes().size();
  const auto objects = snapshot.object_changes().since(object_changes_made_);
  if (ranks_.size() != nodes) {
    for (std::size_t* const done : {&judged_, &told_}) {
      *done = *done == ranks_.size() ? nodes : std::min(*done, nodes);  // what is new has changed
    }
    ranks_.resize(nodes);
    if (tells_why_) rejected_.resize(nodes);
  }
  if (scratch.has_other_object.size() < nodes) scratch.has_other_object.resize(nodes);
  const auto note_objects = [&](std::uint8_t differs) {
    for (const auto& each : objects) {
      if (each.index < nodes) scratch.has_other_object[each.index] = differs;
    }
  };
  note_objects(1);
  scratch.any_other_object = !objects.empty();
  const bool judged = judge_changed(snapshot);
  scratch.any_other_object = false;
  note_objects(0);
  return judged;
}

// Judges the nodes that changed again, and those that plugins follow.
bool BaseView::judge_changed(const Snapshot& snapshot) {
  if (!domains_.follow(snapshot)) return begin_judging(snapshot);
  const std::size_t nodes = snapshot.nodes().size();
  const auto indices = snapshot.changed().since(changes_made_);
  const auto objects = snapshot.object_changes().since(object_changes_made_);
  const bool has_all = std::none_of(objects.begin(), objects.end(),
                                    [](const auto& each) { return each.kind == Snapshot::ObjectChange::Kind::went; });
  if (has_all && common_.scratch.tracked.empty()) {
    ranks_.prefetch(indices);
    return judge(common_.changed.since(snapshot, changes_made_), snapshot);
  }
  std::vector<Ranks::Index>& all = common_.scratch.changed;
  all.clear();
  std::copy_if(indices.begin(), indices.end(), std::back_inserter(all),
               [nodes](Ranks::Index index) { return index < nodes; });
  for (const std::size_t index : common_.scratch.tracked) all.push_back(static_cast<Ranks::Index>(index));
  ranks_.prefetch(all);
  return judge(Rows::at(snapshot, all, common_.scratch.copies), snapshot);
}

std::int64_t BaseView::raw_score(Ranks::Number group, std::size_t place) const {
  const OfObjects& of = object_scores_[place];
  return one_group_ ? of.was_same : ranks_.key_of(group)[of.in_key];
}

}  // namespace berth
