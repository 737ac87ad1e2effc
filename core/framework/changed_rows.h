// ChangedRows: the nodes that changed as rows, one for each change that the snapshot's log has. Many follow the log,
// each from where it was last: what a node has is copied once for all of them, and lies in the order in which they read
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cache/cache.h"
#include "core/cache/node_columns.h"
#include "core/framework/rows.h"

namespace berth {

class ChangedRows {
 public:
  // The changes since then, which snapshot.changed() reaches; no node has gone since. Valid until the snapshot changes.
  Rows since(const Snapshot& snapshot, std::int64_t noted);

 private:
  friend class Rows;
  // How many rows have been copied, and whether some have what no node may have any more.
  struct Copied {
    std::size_t rows = 0;
    bool special = false;
  };
  void follow(const Snapshot& snapshot);
  void begin(std::int64_t first);
  void drop(std::size_t rows);
  Rows::OfResource of(NodeColumns::Resource resource, const Snapshot& snapshot, std::size_t first);
  const std::uint8_t* full(const Snapshot& snapshot, std::size_t first);
  std::size_t row_of(const std::uint32_t* index) const { return static_cast<std::size_t>(index - indices_.data()); }
  bool is_last(const std::uint32_t* index) const {
    return last_[*index] == first_ + static_cast<std::int64_t>(row_of(index));
  }

  std::vector<std::uint32_t> indices_;  // by row
  std::vector<std::int64_t> last_;      // by index: its last row, counted from the first change of all
  std::int64_t first_ = 0;              // how many changes were before the first row
  std::array<NodeColumns::OfResource, NodeColumns::kResources> resources_;
  std::array<Copied, NodeColumns::kResources> copied_;
  std::vector<std::uint8_t> full_;
  std::size_t full_copied_ = 0;
};

}  // namespace berth
