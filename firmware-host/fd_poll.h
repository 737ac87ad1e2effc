// FdPoll: tells once, from the loop, when a file descriptor can be read or written: for those who do not always want to
// read what is there (fd_watch.h does). Hides Asio.
#pragma once

#include <functional>
#include <memory>

namespace asio {
class io_context;
}

namespace berth {

class FdPoll {
 public:
  // Takes ownership of `fd`: a pipe, socket or terminal, which becomes non-blocking. Destroying it closes it, and
  // nothing is told any more.
  FdPoll(asio::io_context& context, int fd);
  ~FdPoll();
  FdPoll(const FdPoll&) = delete;
  FdPoll& operator=(const FdPoll&) = delete;

  int fd() const { return fd_; }
  // The descriptor becomes the caller's, and nothing is told any more.
  int release();
  // While one is waited for, another callback is not taken. It may destroy this.
  void when_readable(std::function<void()> callback);
  void when_writable(std::function<void()> callback);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  int fd_;
};

}  // namespace berth
