// FdWatch: a callback from the loop each time a file descriptor is readable. Hides Asio.
#pragma once

#include <functional>
#include <memory>

namespace asio {
class io_context;
}

namespace berth {

class FdWatch {
 public:
  // Takes ownership of `fd` (pollable: a pidfd, an inotify descriptor, a pipe). The callback must read the available
  // input, or it is called again; it may destroy the watch.
  FdWatch(asio::io_context& context, int fd, std::function<void()> on_readable);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  int fd() const { return fd_; }
  // The descriptor becomes the caller's, and nothing is told any more.
  int release();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  int fd_;
};

}  // namespace berth
