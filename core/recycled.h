// Recycled: a free list per type for objects that are created and destroyed with every decision, so that deciding for
// pods of a known class allocates nothing. RecyclingAllocator: the same for the elements of maps and small vectors.
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <new>
#include <utility>
#include <vector>

namespace berth {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kRecycles = false;  // so that ASan finds uses after free
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kRecycles = false;
#else
inline constexpr bool kRecycles = true;
#endif
#else
inline constexpr bool kRecycles = true;
#endif

// CRTP base: struct T : Recycled<T>.
template <class T>
class Recycled {
 public:
  static void* operator new(std::size_t bytes) {
    if (bytes != sizeof(T) || free_ == nullptr) return ::operator new(bytes);
    Free* const first = free_;
    free_ = first->next;
    --count_;
    return first;
  }
  static void operator delete(void* memory, std::size_t bytes) {
    if (!kRecycles || bytes != sizeof(T) || count_ == kMaxFree) return ::operator delete(memory, bytes);
    free_ = ::new (memory) Free{free_};
    ++count_;
  }

 private:
  friend T;
  Recycled() = default;
  static constexpr std::size_t kMaxFree = 64;  // free blocks kept; more means that the load has just dropped
  struct Free {
    Free* next;
  };
  static inline Free* free_ = nullptr;
  static inline std::size_t count_ = 0;
};

template <std::size_t kBytes>
struct RecycledBlock : Recycled<RecycledBlock<kBytes>> {
  alignas(std::max_align_t) std::array<std::byte, kBytes> bytes;
};

// Recycles allocations of one element or of at most 256 bytes, by size class.
template <class T>
class RecyclingAllocator {
 public:
  using value_type = T;
  RecyclingAllocator() = default;
  template <class U>
  RecyclingAllocator(const RecyclingAllocator<U>&) {}

  T* allocate(std::size_t count) {
    if (count == 1) return static_cast<T*>(take<kOne>());
    const std::size_t bytes = count * sizeof(T);
    return static_cast<T*>(bytes <= 32    ? take<32>()
                           : bytes <= 64  ? take<64>()
                           : bytes <= 128 ? take<128>()
                           : bytes <= 256 ? take<256>()
                                          : ::operator new(bytes));
  }
  void deallocate(T* memory, std::size_t count) {
    if (count == 1) return give<kOne>(memory);
    const std::size_t bytes = count * sizeof(T);
    if (bytes <= 32) return give<32>(memory);
    if (bytes <= 64) return give<64>(memory);
    if (bytes <= 128) return give<128>(memory);
    if (bytes <= 256) return give<256>(memory);
    ::operator delete(memory);
  }
  bool operator==(const RecyclingAllocator&) const = default;

 private:
  static_assert(alignof(T) <= alignof(std::max_align_t));
  static constexpr std::size_t kOne = (sizeof(T) + 15) / 16 * 16;
  template <std::size_t kBytes>
  static void* take() {
    return RecycledBlock<kBytes>::operator new(kBytes);
  }
  template <std::size_t kBytes>
  static void give(void* memory) {
    RecycledBlock<kBytes>::operator delete(memory, kBytes);
  }
};

template <class T>
using RecyclingVector = std::vector<T, RecyclingAllocator<T>>;
template <class Key, class T, class Less = std::less<Key>>
using RecyclingMap = std::map<Key, T, Less, RecyclingAllocator<std::pair<const Key, T>>>;

}  // namespace berth
