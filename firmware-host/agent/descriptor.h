// Descriptor: an open file that is closed with it.
#pragma once

#include <unistd.h>

#include <utility>

namespace berth {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  // The caller's from now on.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace berth
