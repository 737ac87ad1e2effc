// Rows: the nodes that a batch is about, as rows of its results: all nodes of a snapshot, those at some indices, or
// those that changed. Amounts of the nodes are arrays by row either way, so that a plugin has one loop, which the
// compiler takes several nodes at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cache/cache.h"
#include "core/cache/node_columns.h"

namespace berth {

class ChangedRows;

class Rows {
 public:
  // One resource by row, as NodeColumns has it by index; `inexact` and `without` are those of all nodes.
  struct OfResource {
    const double* allocatable = nullptr;
    const double* requested = nullptr;
    const double* requested_for_scoring = nullptr;
    const double* reciprocal = nullptr;
    std::size_t inexact = 0;
    std::size_t without = 0;
  };
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
  bool are_all() const { return copies_ == nullptr && changed_ == nullptr; }
  std::size_t size() const { return size_; }
  std::span<const std::uint32_t> indices() const { return {indices_, size_}; }  // unless all
  std::size_t operator[](std::size_t row) const { return are_all() ? row : indices_[row]; }
  // Of a node that changed twice, an earlier row may have its amounts before the later change: only the last one tells.
  bool is_last(std::size_t row) const;

  OfResource of(NodeColumns::Resource resource) const;
  const std::uint8_t* full() const;  // by row, as NodeColumns has it

 private:
  friend class ChangedRows;
  Rows(const Snapshot& snapshot, const std::uint32_t* indices, std::size_t size, Copies* copies)
      : snapshot_(snapshot), indices_(indices), size_(size), copies_(copies) {}
  const Snapshot& snapshot_;
  const std::uint32_t* indices_;
  std::size_t size_;
  Copies* copies_;                  // null: all, or those that changed
  ChangedRows* changed_ = nullptr;  // null: all, or those at some indices
};

}  // namespace berth
