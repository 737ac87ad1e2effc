// IndexSet: nodes by index, a bit for each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

class IndexSet {
 public:
  void clear() { bits_.clear(); }
  void insert(std::size_t index) {
    if (index / 64 >= bits_.size()) bits_.resize(index / 64 + 1);
    bits_[index / 64] |= std::uint64_t{1} << index % 64;
  }
  bool contains(std::size_t index) const {
    return index / 64 < bits_.size() && (bits_[index / 64] >> index % 64 & 1u) != 0;
  }
  // visit(index), ascending.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t word = 0; word < bits_.size(); ++word) {
      for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1) {
        visit(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }
  std::size_t bytes() const { return bits_.capacity() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> bits_;
};

}  // namespace berth
