// Recycled: objects of one type that come and go with every decision have memory of their own: that of one which ended
// is the next one's, so that deciding for pods of a known class asks for none. Not for several threads.
#pragma once

#include <cstddef>
#include <new>

namespace berth {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kRecycles = false;  // who reads what ended is to be found out
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kRecycles = false;
#else
inline constexpr bool kRecycles = true;
#endif
#else
inline constexpr bool kRecycles = true;
#endif

// To be derived from, by T alone: struct T : Recycled<T>.
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
    if (!kRecycles || bytes != sizeof(T) || count_ == kMost) return ::operator delete(memory, bytes);
    free_ = ::new (memory) Free{free_};
    ++count_;
  }

 private:
  friend T;
  Recycled() = default;
  static constexpr std::size_t kMost = 64;  // more wait to be used: then it is no steady state
  struct Free {
    Free* next;
  };
  static inline Free* free_ = nullptr;
  static inline std::size_t count_ = 0;
};

}  // namespace berth
