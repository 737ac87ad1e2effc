// Rows: the nodes that a batch is about, as rows of its results: all nodes of a snapshot, or those at some indices.
// Amounts of the nodes are arrays by row either way, so that a plugin has one loop, which the compiler takes several
// nodes at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cache/cache.h"
#include "core/cache/node_columns.h"

namespace berth {

class Rows {
 public:
  // What nodes at some indices have, copied at the first question. Memory that can be kept for the next rows.
  class Copies {
    friend class Rows;
    std::array<NodeColumns::OfResource, NodeColumns::kResources> resources_;
    std::vector<std::uint8_t> full_;
    std::array<bool, NodeColumns::kResources> has_resource_{};
    bool has_full_ = false;
  };

  // Row and index are the same. The snapshot outlives the rows, and does not change meanwhile.
  static Rows all(const Snapshot& snapshot);
  // The indices and the copies stay the caller's, and outlive the rows; nobody else uses the copies meanwhile.
  static Rows at(const Snapshot& snapshot, std::span<const std::uint32_t> indices, Copies& copies);
  bool are_all() const { return copies_ == nullptr; }
  std::size_t size() const { return size_; }
  std::span<const std::uint32_t> indices() const { return {indices_, size_}; }  // unless all
  std::size_t operator[](std::size_t row) const { return are_all() ? row : indices_[row]; }

  // By row, as NodeColumns has it by index; `inexact` is that of all nodes. There may be more elements than rows.
  const NodeColumns::OfResource& of(NodeColumns::Resource resource) const;
  const std::vector<std::uint8_t>& full() const;

 private:
  Rows(const Snapshot& snapshot, const std::uint32_t* indices, std::size_t size, Copies* copies)
      : snapshot_(snapshot), indices_(indices), size_(size), copies_(copies) {}
  bool are_few() const { return size_ <= 2; }
  void copy_few(NodeColumns::Resource resource) const;
  const Snapshot& snapshot_;
  const std::uint32_t* indices_;
  std::size_t size_;
  Copies* copies_;  // null: all
};

}  // namespace berth
