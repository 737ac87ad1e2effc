// FdWatch: calls back each time a descriptor can be read, from the loop. Asio stays behind it.
#pragma once

#include <functional>
#include <memory>

namespace asio {
class io_context;
}

namespace berth {

class FdWatch {
 public:
  // Takes over `fd` (pollable: a pidfd, an inotify descriptor, a pipe) and closes it when destroyed. The callback must
  // read what is there, or is called again; it may destroy the watch.
  FdWatch(asio::io_context& context, int fd, std::function<void()> on_readable);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  int fd() const { return fd_; }

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  int fd_;
};

}  // namespace berth
