// SlotPool: objects that keep their index from take() to give_back(), so that a KeyIndex can refer to them. Released
// indices are reused. Slots do not move: a pool that grows leaves no holes in the heap, and no room in advance.
#pragma once

#include <cstddef>
#include <vector>

#include "core/key_index.h"

namespace berth {

template <class T>
class SlotPool {
 public:
  using Index = KeyIndex::Index;

  // The slot holds T{}. References to other slots stay valid.
  Index take() {
    if (!free_.empty()) {
      const Index index = free_.back();
      free_.pop_back();
      return index;
    }
    if (size_ == blocks_.size() * kBlock) blocks_.emplace_back(kBlock);
    return static_cast<Index>(size_++);
  }
  void give_back(Index index) {
    (*this)[index] = {};
    free_.push_back(index);
  }
  T& operator[](Index index) { return blocks_[index / kBlock][index % kBlock]; }
  const T& operator[](Index index) const { return blocks_[index / kBlock][index % kBlock]; }

  // Covers every slot ever taken; a free one holds T{}.
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kBlock = 32;

  std::vector<std::vector<T>> blocks_;
  std::size_t size_ = 0;
  std::vector<Index> free_;
};

}  // namespace berth
