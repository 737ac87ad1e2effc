// Candidates: the nodes that fit one class of pods as far as each can be judged alone, in groups of nodes that differ
// in nothing but a score of their own. To find the best is to compare the best of each group.
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
  struct Group {
    RecyclingMap<std::int64_t, Indices, std::greater<>> by_score;  // the best first; none is empty
    std::size_t size = 0;                                          // never 0
    Index any() const { return by_score.begin()->second.front(); }
  };

  // Forgets all; indices are below `indices` from now on.
  void reset(std::size_t indices);
  // Those beyond are taken, or there are more, which are no candidates yet.
  void resize(std::size_t indices);
  // Wherever it was before.
  void put(Index index, const Key& key, std::int64_t score);
  void take(Index index);
  // Nodes take other indices. By new index: the old one, kNew for a node that is no candidate yet.
  static constexpr std::size_t kNew = static_cast<std::size_t>(-1);
  void move(const std::vector<std::size_t>& from);
  // Of a candidate.
  const Key& key_of(Index index) const { return where_[index].entry->first; }
  std::int64_t score_of(Index index) const { return where_[index].score; }
  bool contains(Index index) const { return where_[index].group != nullptr; }
  // Null: it is no candidate.
  const Group* group_of(Index index) const { return where_[index].group; }
  using Groups = RecyclingMap<Key, Group>;
  const Groups& groups() const { return groups_; }

 private:
  struct Where {
    Group* group = nullptr;  // null: nowhere
    Groups::iterator entry;
    std::int64_t score = 0;
  };
  Groups groups_;
  std::vector<Where> where_;
};

// The `n`th of all these indices, from 0, counted upwards from `start` and, after the last, from 0 on.
Candidates::Index nth_index(const std::vector<const Candidates::Indices*>& indices, std::size_t n,
                            Candidates::Index start);

}  // namespace berth
