// To ask for memory that is needed soon: in a large fleet nothing about a node is in the processor's caches when a pod
// comes to it, and to wait for one line after the other takes longer than all the rest of a decision.
#pragma once

#include <cstddef>
#include <span>

namespace berth {

inline constexpr std::size_t kLineBytes = 64;

// The line that an address is in; it is not read. GCC finds that a function which does nothing else has no effect, and
// drops the calls of it: hence the statement that does nothing.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}
inline void prefetch_line_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

// Of an object that std::make_shared made: the line of its counter, which the library puts before the object.
inline void prefetch_counter(const void* object) {
  constexpr std::size_t kCounters = 16;
  prefetch_line_to_write(static_cast<const char*>(object) - kCounters);
}

// All of an object.
template <class T>
inline void prefetch(const T& object) {
  const char* const first = reinterpret_cast<const char*>(&object);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) prefetch_line(first + at);
  prefetch_line(first + sizeof(T) - 1);
}

// Those of the elements that have one of the indices. Where these are in most lines, each line is asked for once.
template <class T, class Index>
void prefetch_some(std::span<const T> elements, std::span<const Index> indices) {
  constexpr std::size_t kInLine = kLineBytes / sizeof(T);
  if (indices.size() < elements.size() / kInLine) {
    for (const Index index : indices) prefetch_line(&elements[index]);
  } else {
    for (std::size_t at = 0; at < elements.size(); at += kInLine) prefetch_line(&elements[at]);
  }
}

}  // namespace berth
