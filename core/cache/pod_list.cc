#include "core/cache/pod_list.h"

#include <memory>
#include <new>

namespace berth {

PodList::Block* PodList::make(std::size_t capacity) {
  void* const memory = ::operator new(kBefore + capacity * sizeof(PodPtr));
  return new (memory) Block{1, 0, static_cast<std::uint32_t>(capacity)};
}

void PodList::free_last(Block* block) {
  std::destroy_n(pods_of(block), block->used);
  ::operator delete(block);
}

bool PodList::is_alone() const {
  if (block_ == nullptr || block_->users > 1) return false;
  std::destroy(pods_of(block_) + size_, pods_of(block_) + block_->used);
  block_->used = size_;
  return true;
}

void PodList::push_back(PodPtr pod) {
  const bool alone = is_alone();
  if (block_ == nullptr || block_->used != size_ || size_ == block_->capacity) {
    // There is such a list for each node, and most are as long as they will get. An odd number of pods and what is
    // before them fill a chunk of the heap.
    Block* const longer = make((std::size_t{size_} + size_ / 4 + 1) | 1u);
    if (alone) {
      std::uninitialized_move_n(pods_of(block_), size_, pods_of(longer));
    } else {
      std::uninitialized_copy_n(data(), size_, pods_of(longer));
    }
    longer->used = size_;
    const std::uint32_t size = size_;
    clear();
    block_ = longer;
    size_ = size;
  }
  std::construct_at(pods_of(block_) + size_, std::move(pod));
  block_->used = ++size_;
}

PodPtr PodList::take(const_iterator pod) {
  const auto place = static_cast<std::size_t>(pod - begin());
  PodPtr taken = *pod;
  if (is_alone()) {
    PodPtr* const all = pods_of(block_);
    std::move(all + place + 1, all + size_, all + place);
    std::destroy_at(all + --size_);
    block_->used = size_;
    return taken;
  }
  PodList shorter;
  shorter.block_ = make(size_ | 1u);
  std::uninitialized_copy_n(begin(), place, pods_of(shorter.block_));
  std::uninitialized_copy_n(begin() + place + 1, size_ - place - 1, pods_of(shorter.block_) + place);
  shorter.block_->used = shorter.size_ = size_ - 1;
  *this = std::move(shorter);
  return taken;
}

}  // namespace berth
