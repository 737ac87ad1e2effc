// PodList: the pods on a node, in the order in which they came. A copy shares them with the list that it was copied
// from until one of the two removes a pod, or both add one: a state of a node is copied with each pod that comes, and
// that costs the same however many are there. Reads like a vector. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/api/pod.h"

namespace berth {

class PodList {
 public:
  using value_type = PodPtr;
  using const_iterator = const PodPtr*;
  using iterator = const_iterator;

  PodList() = default;
  PodList(const PodList& other) noexcept : block_(other.block_), size_(other.size_) {
    if (block_ != nullptr) ++block_->users;
  }
  PodList(PodList&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PodList& operator=(PodList other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PodList() {
    if (block_ != nullptr && --block_->users == 0) free_last(block_);
  }

  const PodPtr* data() const { return block_ == nullptr ? nullptr : pods_of(block_); }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const PodPtr& operator[](std::size_t place) const { return data()[place]; }
  friend bool operator==(const PodList& a, const PodList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  // How many of the first pods of both are certain to be the same.
  std::size_t shared_with(const PodList& other) const {
    return block_ == other.block_ ? std::min(size_, other.size_) : std::size_t{0};
  }

  void push_back(PodPtr pod);
  // Removes the one at this place of the list; the others keep their order.
  PodPtr take(const_iterator pod);
  void clear() { *this = PodList(); }

 private:
  // In front of the pods. Those from a list's size on are of longer lists, which may all be gone.
  struct Block {
    std::uint32_t users;
    std::uint32_t used;
    std::uint32_t capacity;
  };
  static constexpr std::size_t kBefore = (sizeof(Block) + alignof(PodPtr) - 1) / alignof(PodPtr) * alignof(PodPtr);
  static PodPtr* pods_of(Block* block) {
    return reinterpret_cast<PodPtr*>(reinterpret_cast<std::byte*>(block) + kBefore);
  }
  static Block* make(std::size_t capacity);
  static void free_last(Block* block);
  // Whether nobody else has the pods; then there are none behind the list's own.
  bool is_alone() const;

  Block* block_ = nullptr;  // null: no pods yet
  std::uint32_t size_ = 0;
};

}  // namespace berth
