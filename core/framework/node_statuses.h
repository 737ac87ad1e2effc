// NodeStatuses: why each node of a snapshot was rejected. A fleet is rejected for a handful of reasons, so each status
// is kept once, with the number of nodes that have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
    std::size_t nodes = 0;  // 0: no node has it any more
  };

  // Of nobody; places are below `places` from now on.
  void reset(std::size_t places);
  // Those beyond are cleared, or there are more.
  void resize(std::size_t places);
  // Replaces what the node had.
  void set(std::size_t place, Status status);
  void clear(std::size_t place);
  // Nodes take other places: by new place the old one, Snapshot::Move::kNew for a node without status.
  void move(const std::vector<std::size_t>& from);

  // Null: the node was not rejected, or is none.
  const Status* find(std::size_t place) const;
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Each status once.
  const std::vector<Kind>& kinds() const { return kinds_; }
  // In kinds(); kNone: not rejected.
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  std::uint32_t kind_of(std::size_t place) const { return place < by_place_.size() ? by_place_[place] : kNone; }
  // By the names that nodes have in the snapshot.
  std::map<std::string, Status> by_name(const Snapshot& snapshot) const;

 private:
  // kinds_.size(): none.
  std::size_t find_kind(const Status& status) const;
  std::vector<std::uint32_t> by_place_;  // in kinds_
  std::vector<Kind> kinds_;
  std::unordered_multimap<std::size_t, std::uint32_t> index_;  // by hash, those that some node has
  std::vector<std::uint32_t> free_;                            // in kinds_, the others
  std::size_t last_ = 0;                                       // neighbours tend to have the same
  std::size_t size_ = 0;
};

}  // namespace berth
