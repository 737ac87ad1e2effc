// NodeStatuses: why each node of a snapshot was rejected, by its index in the snapshot. There are only a few distinct
// reasons, so each status is stored once, with the number of nodes that have it. Where a pod asks for some nodes by
// name, one status stands for all others, and nothing is stored for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cache/cache.h"
#include "core/status.h"

namespace berth {

class NodeStatuses {
 public:
  struct Kind {
    Status status;
    std::size_t nodes = 0;  // 0: unused
  };

  // Clears all statuses; `nodes` is the number of nodes from now on.
  void reset(std::size_t nodes);
  // Changes the number of nodes; statuses beyond it are cleared.
  void resize(std::size_t nodes);
  // Replaces the node's status.
  void set(std::size_t index, Status status);
  // Gives whole groups of nodes one status each. `groups`: each node's, by index; `statuses`: by group, null for those
  // that stay as they are, and so do nodes of a group beyond them. The nodes of the others have none so far.
  void set_groups(std::span<const std::uint32_t> groups, const std::vector<const Status*>& statuses);
  // Every node that has no status gets this one, except those at these indices. Nothing is set or cleared after it.
  void set_others(Status status, std::vector<std::size_t> except = {});
  void clear(std::size_t index);

  // Null: the node was not rejected, or the index is out of range.
  const Status* find(std::size_t index) const;
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The distinct statuses.
  const std::vector<Kind>& kinds() const { return kinds_; }
  // An index into kinds(); kNone: not rejected.
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  std::uint32_t kind_of(std::size_t index) const;
  // By node name.
  std::map<std::string, Status> by_name(const Snapshot& snapshot) const;

 private:
  // kinds_.size() when there is none.
  std::size_t find_kind(const Status& status) const;
  std::uint32_t kind_for(Status status);  // makes one where there is none
  std::uint32_t own_kind_of(std::size_t index) const { return by_node_.empty() ? kNone : by_node_[index]; }
  std::size_t nodes_ = 0;
  std::vector<std::uint32_t> by_node_;  // index into kinds_; empty until a node has a status
  std::uint32_t others_ = kNone;        // the kind of all that have none there
  std::vector<std::size_t> except_;     // of the others; ascending
  std::vector<Kind> kinds_;
  std::unordered_multimap<std::size_t, std::uint32_t> index_;  // kinds in use, by hash
  std::vector<std::uint32_t> free_;                            // unused kinds
  std::size_t last_ = 0;                                       // most recently set; neighbours tend to have the same
  std::size_t size_ = 0;
};

}  // namespace berth
