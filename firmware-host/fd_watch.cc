#include "firmware-host/fd_watch.h"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <utility>

namespace berth {

struct FdWatch::Shared : std::enable_shared_from_this<FdWatch::Shared> {
  Shared(asio::io_context& context, int fd, std::function<void()> callback)
      : descriptor(context, fd), on_readable(std::move(callback)) {}

  void wait() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const asio::error_code& error) {
                            if (error || !self->descriptor.is_open()) return;
                            self->on_readable();
                            if (self->descriptor.is_open()) self->wait();
                          });
  }

  asio::posix::stream_descriptor descriptor;
  std::function<void()> on_readable;
};

FdWatch::FdWatch(asio::io_context& context, int fd, std::function<void()> on_readable)
    : shared_(std::make_shared<Shared>(context, fd, std::move(on_readable))), fd_(fd) {
  shared_->wait();
}

FdWatch::~FdWatch() {
  asio::error_code ignored;
  shared_->descriptor.close(ignored);
}

int FdWatch::release() { return shared_->descriptor.release(); }

}  // namespace berth
