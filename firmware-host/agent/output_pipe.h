// OutputPipe: a pipe whose reading end does not block. Closes what is left of it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace berth {

class OutputPipe {
 public:
  OutputPipe() = default;
  ~OutputPipe() {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  // False: errno says why.
  bool open() { return pipe2(ends_.data(), O_CLOEXEC) == 0 && fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0; }
  int writing() const { return ends_[1]; }
  // So that what a child writes has an end.
  void close_writing() { close(std::exchange(ends_[1], -1)); }
  // The caller's from now on.
  int take_reading() { return std::exchange(ends_[0], -1); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

}  // namespace berth
