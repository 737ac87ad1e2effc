// CountedBytes: one object's share of a sum of bytes, taken back with the object.
#pragma once

#include <cstddef>

namespace berth {

class CountedBytes {
 public:
  // `total` outlives this.
  explicit CountedBytes(std::size_t& total) : total_(total) {}
  ~CountedBytes() { total_ -= bytes_; }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  void set(std::size_t bytes) {
    total_ += bytes;
    total_ -= bytes_;
    bytes_ = bytes;
  }

 private:
  std::size_t& total_;
  std::size_t bytes_ = 0;
};

}  // namespace berth
