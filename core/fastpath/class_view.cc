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

ClassView::ClassView(const Framework& framework, const Pod& pod, EquivalenceKeys keys, BaseViews& bases,
                     ViewScratch& scratch)
    : framework_(framework), bases_(bases), scratch_(scratch), keys_(std::move(keys)), pod_(pod) {
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
  for (const auto& entry : framework_.pre_filters()) {
    if (sums(entry)) summing_pre_filters_.push_back(&entry);
  }
  for (const auto& entry : framework_.filters()) {
    if (sums(entry)) summing_filters_.push_back(&entry);
  }
  note_summing(framework_.pre_filters());
  note_summing(framework_.pre_scores());
}

bool ClassView::is_of(const Framework& framework, const Pod& pod, const EquivalenceKeys& keys, bool with_labels) const {
  return &framework == &framework_ && keys == keys_ && is_same_class(pod, pod_, with_labels);
}

// False: what happened cannot be followed change by change.
bool ClassView::holds(const Snapshot& snapshot) const {
  const auto& objects = snapshot.object_changes();
  if (!sums_begun_ || !objects.reaches(object_changes_made_) || !sums_.hold(snapshot)) return false;
  if (sums_.active().empty()) return true;
  const auto missed = objects.since(object_changes_made_);
  const bool has_states = missed.empty() || snapshot.changed().reaches(missed.front().changes_made);
  return has_states && snapshot.pod_changes().reaches(pod_changes_made_);
}

void ClassView::follow_sums(const Snapshot& snapshot, const Pod& pod) {
  if (!holds(snapshot)) {
    begin_sums(snapshot, pod);
  } else if (object_changes_made_ != snapshot.object_changes().made()) {
    follow_objects(snapshot);
  } else if (!sums_.active().empty()) {
    follow_pods(snapshot);
  }
  pod_changes_made_ = snapshot.pod_changes().made();
  object_changes_made_ = snapshot.object_changes().made();
}

void ClassView::begin_sums(const Snapshot& snapshot, const Pod& pod) {
  pod_ = pod;  // the objects of the previous one may have changed
  if (keys_.empty()) pod_.shape = {};
  state_ = CycleState();
  with_nominated_.clear();
  base_ = nullptr;
  sums_.begin(snapshot);
  sums_begun_ = true;
}

// The base view of nodes in these domains.
void ClassView::take_base(const Snapshot& snapshot) {
  const bool shares = keys_.empty() && !undeclared_.any() && !sums_.have_traits();
  base_ = bases_.find_or_make({pod_, tracked_plugins_, undeclared_, domains_, shares ? nullptr : &sums_}, snapshot);
  base_begun_ = 0;
}

// Follows what tells the base view: sums and domains.
void ClassView::find_base(const Snapshot& snapshot, const Pod& pod) {
  follow_sums(snapshot, pod);
  const bool domains_hold = domains_.follow(snapshot);
  const bool holds = domains_hold && base_ != nullptr && base_->with_images() == snapshot.has_images();
  if (!holds) take_base(snapshot);
}

bool ClassView::is_prepared(const Snapshot& snapshot) const {
  return undeclared_.all || (holds(snapshot) && base_ != nullptr && base_->is_prepared(snapshot));
}

bool ClassView::prepare(const Snapshot& snapshot, const Pod& pod, std::size_t most) {
  find_base(snapshot, pod);
  return base_->prepare(snapshot, pod, most);
}

std::string_view ClassView::follow(const Snapshot& snapshot, const Pod& pod) {
  if (undeclared_.all) return declined::kNothingDeclared;
  find_base(snapshot, pod);
  const std::string_view why = base_->follow(snapshot, pod);
  if (!why.empty()) return why;
  if (base_begun_ != base_->begun()) state_.take_from(base_->state());
  base_begun_ = base_->begun();
  return {};
}

// Notes which nodes' objects changed, and sums what came and went.
void ClassView::follow_objects(const Snapshot& snapshot) {
  std::vector<const Snapshot::ObjectChange*>& firsts = scratch_.first_changes;
  firsts.clear();
  if (scratch_.first_change_of.size() < snapshot.nodes().size())
    scratch_.first_change_of.resize(snapshot.nodes().size());
  for (const Snapshot::ObjectChange& change : snapshot.object_changes().since(object_changes_made_)) {
    if (change.kind == Snapshot::ObjectChange::Kind::went) with_nominated_.erase(change.index);
    if (change.index >= scratch_.first_change_of.size()) scratch_.first_change_of.resize(change.index + 1);
    std::uint32_t& first = scratch_.first_change_of[change.index];
    if (first != 0) continue;
    firsts.push_back(&change);
    first = static_cast<std::uint32_t>(firsts.size());
  }
  if (!sums_.active().empty()) {
    follow_pods(snapshot);
    sum_objects(snapshot);
  }
  for (const auto* each : firsts) scratch_.first_change_of[each->index] = 0;
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

std::size_t ClassView::bytes() const {
  constexpr std::size_t kRest = 3072;  // the pod, what plugins keep in the state
  return kRest + sums_.bytes();
}

}  // namespace berth
