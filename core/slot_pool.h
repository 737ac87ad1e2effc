// Places: things that keep their number from take() to give_back(), for a KeyIndex to name them by. A number that was
// given back is taken again.
#pragma once

#include <cstddef>
#include <vector>

#include "core/key_index.h"

namespace berth {

template <class T>
class SlotPool {
 public:
  using Index = KeyIndex::Index;

  void reserve(std::size_t things) { things_.reserve(things); }
  // What stands there is T{}. References to other things are good no more.
  Index take() {
    if (free_.empty()) {
      things_.emplace_back();
      return static_cast<Index>(things_.size() - 1);
    }
    const Index place = free_.back();
    free_.pop_back();
    return place;
  }
  void give_back(Index place) {
    things_[place] = {};
    free_.push_back(place);
  }
  T& operator[](Index place) { return things_[place]; }
  const T& operator[](Index place) const { return things_[place]; }

  // Every place that was ever taken; a free one has T{}.
  std::size_t size() const { return things_.size(); }
  auto begin() { return things_.begin(); }
  auto end() { return things_.end(); }
  auto begin() const { return things_.begin(); }
  auto end() const { return things_.end(); }

 private:
  std::vector<T> things_;
  std::vector<Index> free_;
};

}  // namespace berth
