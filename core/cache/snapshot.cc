// How a snapshot applies the changes that the cache finds (cache_order.cc).
#include <algorithm>
#include <utility>

#include "core/cache/cache.h"
#include "core/prefetch.h"

namespace berth {

const NodeInfo* Snapshot::find(std::string_view node) const {
  const std::size_t index = index_of(node);
  return index == nodes_.size() ? nullptr : nodes_[index].get();
}

KeyIndex::Index Snapshot::number_of(std::string_view node) const {
  return numbers_.find(node, [&](KeyIndex::Index each) {
    const std::size_t index = index_by_number_[each];
    return index != kNoIndex && nodes_[index]->name() == node;
  });
}

std::size_t Snapshot::index_of(std::string_view node) const {
  const KeyIndex::Index number = number_of(node);
  return number == KeyIndex::kNone ? nodes_.size() : index_by_number_[number];
}

void Snapshot::prefetch_state(std::size_t index) const {
  const NodeInfo& node = *nodes_[index];
  prefetch_counter(&node);
  prefetch(node);
  if (has_column_of(index)) columns_->prefetch(index);
}

NodeColumns& Snapshot::columns() const {
  if (!columns_) columns_.emplace();
  if (columns_->size() < nodes_.size()) columns_->build(nodes_, nodes_.size());
  return *columns_;
}

const PodKinds& Snapshot::pod_kinds() const {
  count_kinds(nodes_.size());
  return *pod_kinds_;
}

void Snapshot::count_kinds(std::size_t end) const {
  if (!pod_kinds_) {
    pod_kinds_.emplace();
    kinds_counted_ = 0;
  }
  for (; kinds_counted_ < end; ++kinds_counted_) {
    pod_kinds_->change(kinds_counted_, nullptr, nodes_[kinds_counted_].get());
  }
}

// Nodes that were not counted yet are read as they are then.
PodKinds::Changes Snapshot::change_kinds(std::size_t index, ObjectChange::Kind kind, const NodeInfo* before,
                                         const NodeInfo* after) {
  const bool is_next = kind == ObjectChange::Kind::came && kinds_counted_ == index;
  if (!pod_kinds_ || (index >= kinds_counted_ && !is_next)) return {};
  if (kind != ObjectChange::Kind::replaced) kinds_counted_ = index + (is_next ? 1 : 0);
  return pod_kinds_->change(index, before, after);
}

bool Snapshot::prepare(const Needs& needs, std::size_t most) {
  if (!columns_) columns_.emplace();
  if (columns_->build(nodes_, most)) return true;
  if (needs.pod_kinds && (!pod_kinds_ || kinds_counted_ < nodes_.size())) {
    count_kinds(std::min(nodes_.size(), (pod_kinds_ ? kinds_counted_ : 0) + most));
    return true;
  }
  for (; labels_ready_ < needs.label_keys.size(); ++labels_ready_) {
    if (columns_->build_label(needs.label_keys[labels_ready_], nodes_, most)) return true;
  }
  return false;
}

std::shared_ptr<const NodeInfo> Snapshot::note(std::size_t index, std::shared_ptr<const NodeInfo> before,
                                               ObjectChange::Kind kind) {
  const NodeInfo* after = kind == ObjectChange::Kind::went ? nullptr : nodes_[index].get();
  const bool is_object = kind != ObjectChange::Kind::replaced || before->node != after->node;
  const std::size_t kept = changes_kept();
  const std::int64_t changes_made = changed_.made();
  const std::int64_t pod_changes_made = pod_changes_.made();
  for (PodKinds::Change& each : change_kinds(index, kind, before.get(), after)) pod_changes_.add(std::move(each), kept);
  changed_.add(static_cast<std::uint32_t>(index), kept);
  drop_old_states();  // first: the log of objects may forget them
  if (is_object) {
    object_changes_.add({index, kind, std::move(before), changes_made, pod_changes_made}, kept);
    ++with_before_;
  }
  return before;
}

// Nobody can follow from before them any more.
void Snapshot::drop_old_states() {
  while (with_before_ > 0 && !changed_.reaches(object_changes_.nth_last(with_before_).changes_made)) {
    object_changes_.nth_last(with_before_--).before = nullptr;
  }
}

void Snapshot::begin_logs() {
  changed_.forget();
  pod_changes_.forget();
  object_changes_.forget();
  with_before_ = 0;
}

// A node that is not there yet; `number`: its own in the cache.
void Snapshot::add_last(KeyIndex::Index number, std::shared_ptr<const NodeInfo> node) {
  const std::size_t index = nodes_.size();
  if (number >= index_by_number_.size()) index_by_number_.resize(number + 1, kNoIndex);
  index_by_number_[number] = index;
  // A node that went while its pods remained is still in the index that rearrange() took over.
  const auto is_number = [number](KeyIndex::Index other) { return other == number; };
  if (numbers_.find(node->name(), is_number) == KeyIndex::kNone) numbers_.insert(node->name(), number);
  if (columns_ && columns_->size() == index) columns_->add_last(*node);
  nodes_.push_back(std::move(node));
  note(index, nullptr, ObjectChange::Kind::came);
}

// The last node moves to its index.
void Snapshot::take(std::size_t index) {
  const KeyIndex::Index number = number_of(nodes_[index]->name());
  numbers_.erase(nodes_[index]->name(), [number](KeyIndex::Index other) { return other == number; });
  index_by_number_[number] = kNoIndex;
  const std::size_t end = nodes_.size() - 1;
  std::shared_ptr<const NodeInfo> last = nodes_[end];
  if (index < end) {
    index_by_number_[number_of(last->name())] = index;
    if (has_column_of(end)) {
      columns_->set(index, *nodes_[index], *last);
    } else {
      columns_.reset();  // built in parts, of which the last node is in none
    }
    note(index, std::exchange(nodes_[index], last), ObjectChange::Kind::replaced);
  }
  if (has_column_of(end)) columns_->take_last(*last);
  nodes_.pop_back();
  note(end, std::move(last), ObjectChange::Kind::went);
}

}  // namespace berth
