#include "core/framework/rows.h"

namespace berth {

namespace {

void copy(const NodeColumns::OfResource& from, std::span<const std::uint32_t> indices, NodeColumns::OfResource& to) {
  const std::size_t size = indices.size();
  // Never smaller: the next rows may be all nodes again, and to grow clears what is written right after.
  for (auto* each : {&to.allocatable, &to.requested, &to.requested_for_scoring, &to.reciprocal}) {
    if (each->size() < size) each->resize(size);
  }
  const double* const from_allocatable = from.allocatable.data();
  const double* const from_requested = from.requested.data();
  const double* const from_for_scoring = from.requested_for_scoring.data();
  const double* const from_reciprocal = from.reciprocal.data();
  double* const allocatable = to.allocatable.data();
  double* const requested = to.requested.data();
  double* const for_scoring = to.requested_for_scoring.data();
  double* const reciprocal = to.reciprocal.data();
  for (std::size_t row = 0; row < size; ++row) {
    const std::size_t index = indices[row];
    allocatable[row] = from_allocatable[index];
    requested[row] = from_requested[index];
    for_scoring[row] = from_for_scoring[index];
    reciprocal[row] = from_reciprocal[index];
  }
}

}  // namespace

Rows Rows::all(const Snapshot& snapshot) { return {snapshot, nullptr, snapshot.nodes().size(), nullptr}; }

Rows Rows::at(const Snapshot& snapshot, std::span<const std::uint32_t> indices, Copies& copies) {
  copies.has_resource_.fill(false);
  copies.has_full_ = false;
  return {snapshot, indices.data(), indices.size(), &copies};
}

const NodeColumns::OfResource& Rows::of(NodeColumns::Resource resource) const {
  const NodeColumns::OfResource& column = snapshot_.columns().of(resource);
  if (are_all()) return column;
  if (!copies_->has_resource_[resource]) {
    if (are_few()) {
      copy_few(resource);
    } else {
      copy(column, {indices_, size_}, copies_->resources_[resource]);
    }
    copies_->resources_[resource].inexact = column.inexact;
    copies_->has_resource_[resource] = true;
  }
  return copies_->resources_[resource];
}

// Of a node that has just changed the state is at hand, and each column would be another line of memory.
void Rows::copy_few(NodeColumns::Resource resource) const {
  NodeColumns::OfResource& to = copies_->resources_[resource];
  for (auto* each : {&to.allocatable, &to.requested, &to.requested_for_scoring, &to.reciprocal}) {
    if (each->size() < size_) each->resize(size_);
  }
  for (std::size_t row = 0; row < size_; ++row) {
    const NodeColumns::RowAmounts amounts = NodeColumns::amounts_of(*snapshot_.nodes()[indices_[row]], resource);
    to.allocatable[row] = amounts.allocatable;
    to.requested[row] = amounts.requested;
    to.requested_for_scoring[row] = amounts.requested_for_scoring;
    to.reciprocal[row] = amounts.reciprocal;
  }
}

const std::vector<std::uint8_t>& Rows::full() const {
  const std::vector<std::uint8_t>& column = snapshot_.columns().full();
  if (are_all()) return column;
  if (!copies_->has_full_) {
    if (copies_->full_.size() < size_) copies_->full_.resize(size_);
    const std::uint8_t* const from = column.data();
    const std::uint32_t* const indices = indices_;
    std::uint8_t* const full = copies_->full_.data();
    for (std::size_t row = 0, size = size_; row < size; ++row) full[row] = from[indices[row]];
    copies_->has_full_ = true;
  }
  return copies_->full_;
}

}  // namespace berth
