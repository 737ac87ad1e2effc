// Recent: the last elements of a sequence, one after another in memory, and how many there ever were. A reader notes
// made() when it has read all; what it has not read is the last made() - noted elements, if so many are kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"

namespace berth {

template <class T>
class Recent {
 public:
  // Keeps the last `most`, which is at least 1 and may differ each time.
  void add(T element, std::size_t most) {
    if (elements_.size() >= 2 * most) {
      elements_.erase(elements_.begin(), elements_.end() - static_cast<std::ptrdiff_t>(most - 1));
    }
    elements_.push_back(std::move(element));
    kept_ = std::min(kept_ + 1, most);
    ++made_;
  }
  // 1: the last one.
  T& nth_last(std::size_t n) {
    CHECK(n >= 1 && n <= elements_.size());
    return elements_[elements_.size() - n];
  }
  // Drops all; every reader finds itself too far behind.
  void forget() {
    elements_.clear();
    kept_ = 0;
    ++made_;
  }
  std::int64_t made() const { return made_; }
  std::size_t size() const { return kept_; }
  // True when all elements since then are kept.
  bool reaches(std::int64_t noted) const { return made_ - noted <= static_cast<std::int64_t>(kept_); }
  // At most size() of them, the oldest first. Valid until the next change.
  std::span<const T> last(std::size_t count) const { return std::span(elements_).last(count); }
  std::span<const T> since(std::int64_t noted) const { return last(static_cast<std::size_t>(made_ - noted)); }

 private:
  std::vector<T> elements_;  // up to twice as many as are kept
  std::size_t kept_ = 0;
  std::int64_t made_ = 0;
};

}  // namespace berth
