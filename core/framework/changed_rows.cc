#include "core/framework/changed_rows.h"

#include <algorithm>

#include "core/framework/copied_rows.h"

namespace berth {

Rows ChangedRows::since(const Snapshot& snapshot, std::int64_t noted) {
  follow(snapshot);
  const auto first = static_cast<std::size_t>(noted - first_);
  Rows rows(snapshot, indices_.data() + first, indices_.size() - first, nullptr);
  rows.changed_ = this;
  return rows;
}

void ChangedRows::follow(const Snapshot& snapshot) {
  const auto& changed = snapshot.changed();
  const auto kept = static_cast<std::int64_t>(changed.size());
  const auto made = [this] { return first_ + static_cast<std::int64_t>(indices_.size()); };
  if (!changed.reaches(made()) || first_ > changed.made() - kept) begin(changed.made() - kept);
  const auto missed = changed.since(made());
  if (indices_.size() + missed.size() > 2 * changed.size()) {
    drop(static_cast<std::size_t>(std::max<std::int64_t>(changed.made() - kept - first_, 0)));
  }
  for (const std::uint32_t index : missed) {
    if (index >= last_.size()) last_.resize(index + std::size_t{1});
    last_[index] = made();
    indices_.push_back(index);
  }
}

void ChangedRows::begin(std::int64_t first) {
  first_ = first;
  indices_.clear();
  copied_.fill({});
  full_copied_ = 0;
}

// The oldest rows.
void ChangedRows::drop(std::size_t rows) {
  rows = std::min(rows, indices_.size());
  const auto take = [rows](auto& elements) {
    elements.erase(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(std::min(rows, elements.size())));
  };
  take(indices_);
  take(full_);
  full_copied_ -= std::min(full_copied_, rows);
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    for (auto* each : {&resources_[i].allocatable, &resources_[i].requested, &resources_[i].requested_for_scoring,
                       &resources_[i].reciprocal}) {
      take(*each);
    }
    copied_[i].rows -= std::min(copied_[i].rows, rows);
  }
  first_ += static_cast<std::int64_t>(rows);
}

// Rows of amounts that are not exact, or of which there is nothing, are copied again when no node has any more: the
// loops then rely on it.
Rows::OfResource ChangedRows::of(NodeColumns::Resource resource, const Snapshot& snapshot, std::size_t first) {
  const NodeColumns::OfResource& column = snapshot.columns().of(resource);
  Copied& copied = copied_[resource];
  const bool is_special = column.inexact + column.without > 0;
  if (copied.special && !is_special) copied.rows = 0;
  copied.special = is_special;
  copy_rows(snapshot, resource, std::span(indices_).subspan(copied.rows), resources_[resource], copied.rows);
  copied.rows = indices_.size();
  return rows_from(resources_[resource], first, column);
}

const std::uint8_t* ChangedRows::full(const Snapshot& snapshot, std::size_t first) {
  copy_rows(snapshot.columns().full(), std::span(indices_).subspan(full_copied_), full_, full_copied_);
  full_copied_ = indices_.size();
  return full_.data() + first;
}

}  // namespace berth
