// SlotPool: objects that keep their index from take() to give_back(), so that a KeyIndex can refer to them. Released
// indices are reused. Slots do not move: a pool that grows leaves no holes in the heap, and no room in advance.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "core/key_index.h"

namespace berth {

template <class T>
class SlotPool {
 public:
  using Index = KeyIndex::Index;

  // The slot holds T{}. References to other slots stay valid.
  Index take() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<Index>(slots_.size() - 1);
    }
    const Index index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(Index index) {
    slots_[index] = {};
    free_.push_back(index);
  }
  T& operator[](Index index) { return slots_[index]; }
  const T& operator[](Index index) const { return slots_[index]; }

  // Size and iteration cover every slot ever taken; a free one holds T{}.
  std::size_t size() const { return slots_.size(); }
  auto begin() { return slots_.begin(); }
  auto end() { return slots_.end(); }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }

 private:
  std::deque<T> slots_;
  std::vector<Index> free_;
};

}  // namespace berth
