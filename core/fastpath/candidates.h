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
  using Index = std::uint32_t;            // in the snapshot
  using Places = RecyclingVector<Index>;  // ascending
  using Key = RecyclingVector<std::int64_t>;
  struct Group {
    RecyclingMap<std::int64_t, Places, std::greater<>> by_score;  // the best first; none is empty
    std::size_t size = 0;                                         // never 0
    Index any() const { return by_score.begin()->second.front(); }
  };

  // Forgets all; places are below `places` from now on.
  void reset(std::size_t places);
  // Those beyond are taken, or there are more, which are no candidates yet.
  void resize(std::size_t places);
  // Wherever it was before.
  void put(Index place, const Key& key, std::int64_t score);
  void take(Index place);
  // Nodes take other places. By new place: the old one, kNew for a node that is no candidate yet.
  static constexpr std::size_t kNew = static_cast<std::size_t>(-1);
  void move(const std::vector<std::size_t>& from);
  // Of a candidate.
  const Key& key_of(Index place) const { return where_[place].entry->first; }
  std::int64_t score_of(Index place) const { return where_[place].score; }
  bool contains(Index place) const { return where_[place].group != nullptr; }
  // Null: it is no candidate.
  const Group* group_of(Index place) const { return where_[place].group; }
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

// The `n`th of all these places, from 0, counted upwards from `start` and, after the last, from 0 on.
Candidates::Index nth_place(const std::vector<const Candidates::Places*>& places, std::size_t n,
                            Candidates::Index start);

}  // namespace berth
