#include "core/framework/rows.h"

#include "core/framework/changed_rows.h"
#include "core/framework/copied_rows.h"

namespace berth {

Rows Rows::all(const Snapshot& snapshot) { return {snapshot, nullptr, snapshot.nodes().size(), nullptr}; }

Rows Rows::at(const Snapshot& snapshot, std::span<const std::uint32_t> indices, Copies& copies) {
  copies.has_resource_.fill(false);
  copies.has_full_ = false;
  return {snapshot, indices.data(), indices.size(), &copies};
}

bool Rows::is_last(std::size_t row) const { return changed_ == nullptr || changed_->is_last(indices_ + row); }

Rows::OfResource Rows::of(NodeColumns::Resource resource) const {
  if (changed_ != nullptr) return changed_->of(resource, snapshot_, changed_->row_of(indices_));
  const NodeColumns::OfResource& column = snapshot_.columns().of(resource);
  if (copies_ == nullptr) return rows_from(column, 0, column);
  if (!copies_->has_resource_[resource])
    copy_rows(snapshot_, resource, {indices_, size_}, copies_->resources_[resource], 0);
  copies_->has_resource_[resource] = true;
  return rows_from(copies_->resources_[resource], 0, column);
}

const std::uint8_t* Rows::full() const {
  if (changed_ != nullptr) return changed_->full(snapshot_, changed_->row_of(indices_));
  const std::vector<std::uint8_t>& column = snapshot_.columns().full();
  if (copies_ == nullptr) return column.data();
  if (!copies_->has_full_) copy_rows(column, {indices_, size_}, copies_->full_, 0);
  copies_->has_full_ = true;
  return copies_->full_.data();
}

}  // namespace berth
