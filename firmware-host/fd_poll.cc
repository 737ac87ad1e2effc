#include "firmware-host/fd_poll.h"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <utility>

namespace berth {

struct FdPoll::Shared : std::enable_shared_from_this<FdPoll::Shared> {
  Shared(asio::io_context& context, int fd) : descriptor(context, fd) {}

  void wait(asio::posix::stream_descriptor::wait_type what, bool& waits, std::function<void()> callback) {
    if (std::exchange(waits, true)) return;
    descriptor.async_wait(what, [self = shared_from_this(), &waits, call = std::move(callback)](const auto& error) {
      waits = false;
      if (!error && self->descriptor.is_open()) call();
    });
  }

  asio::posix::stream_descriptor descriptor;
  bool waits_to_read = false;
  bool waits_to_write = false;
};

FdPoll::FdPoll(asio::io_context& context, int fd) : shared_(std::make_shared<Shared>(context, fd)), fd_(fd) {
  asio::error_code ignored;
  shared_->descriptor.non_blocking(true, ignored);
}

FdPoll::~FdPoll() {
  asio::error_code ignored;
  shared_->descriptor.close(ignored);
}

int FdPoll::release() { return shared_->descriptor.release(); }

void FdPoll::when_readable(std::function<void()> callback) {
  shared_->wait(asio::posix::stream_descriptor::wait_read, shared_->waits_to_read, std::move(callback));
}

void FdPoll::when_writable(std::function<void()> callback) {
  shared_->wait(asio::posix::stream_descriptor::wait_write, shared_->waits_to_write, std::move(callback));
}

}  // namespace berth
