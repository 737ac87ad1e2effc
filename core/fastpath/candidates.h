// Candidates: the nodes that are feasible for one class of pods as far as each node can be judged alone, in groups of
// nodes that differ only in a score of their own. The best node is found by comparing the best of each group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/recycled.h"

namespace berth {

class Candidates {
 public:
  using Index = std::uint32_t;             // in the snapshot
  using Indices = RecyclingVector<Index>;  // ascending
  using Key = RecyclingVector<std::int64_t>;
  using Buckets = RecyclingMap<std::int64_t, Indices, std::greater<>>;  // by score, the best first; none is empty
  struct Group {
    static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
    Buckets by_score;
    std::size_t size = 0;          // never 0
    std::uint32_t number = kNone;  // not used here; a number for the caller
    Index any() const { return by_score.begin()->second.front(); }
  };

  // Removes all; indices are below `indices` from now on.
  void reset(std::size_t indices);
  // Changes the number of indices. Removes candidates beyond it; new indices are no candidates.
  void resize(std::size_t indices);
  // Adds a node, or moves it from the group that it was in.
  void put(Index index, const Key& key, std::int64_t score);
  void take(Index index);
  // Renumbers the nodes. By new index: the old one, kNew for a node that is no candidate.
  static constexpr std::size_t kNew = static_cast<std::size_t>(-1);
  void move(const std::vector<std::size_t>& from);
  // Only for candidates.
  const Key& key_of(Index index) const { return where_[index].entry->first; }
  std::int64_t score_of(Index index) const { return where_[index].score; }
  bool contains(Index index) const { return where_[index].group != nullptr; }
  // Null: no candidate.
  Group* group_of(Index index) const { return where_[index].group; }
  using Groups = RecyclingMap<Key, Group>;
  Groups& groups() { return groups_; }
  const Groups& groups() const { return groups_; }

 private:
  struct Where {
    Group* group = nullptr;  // null: no candidate
    Groups::iterator entry;
    std::int64_t score = 0;
  };
  Groups groups_;
  std::vector<Where> where_;
};

// The `n`th of all these indices, from 0, in ascending order from `start` on and then from 0.
Candidates::Index nth_index(const std::vector<const Candidates::Indices*>& indices, std::size_t n,
                            Candidates::Index start);

}  // namespace berth
