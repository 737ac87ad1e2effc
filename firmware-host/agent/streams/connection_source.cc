#include "firmware-host/agent/streams/connection_source.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "firmware-host/agent/probe_tcp.h"

namespace berth {

ConnectionSource::ConnectionSource(asio::io_context& context, int socket, std::function<void()> ready)
    : ready_(std::move(ready)), socket_(context, socket) {
  socket_.when_writable([this] { on_connected(); });
}

void ConnectionSource::on_connected() {
  const Status connected = end_connect(socket_.fd());
  is_connected_ = connected.is_success();
  if (!is_connected_) failure_ = connected.message();
  flush();
  ready_();
}

StreamSource::Part ConnectionSource::read(std::size_t bytes_max) {
  if (!is_connected_ && failure_.empty()) return {};
  Part part;
  if (is_connected_ && !output_is_over_) {
    part.bytes.resize(bytes_max);
    const ssize_t got = recv(socket_.fd(), part.bytes.data(), part.bytes.size(), 0);
    const int error = got < 0 ? errno : 0;
    part.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (error == EAGAIN || error == EINTR) {
      socket_.when_readable(ready_);
      return part;
    }
    if (error != 0 && failure_.empty()) failure_ = std::strerror(error);
    part.more = got > 0;
    if (part.more) return part;
    output_is_over_ = true;
    part.last = error == 0;
  }
  if (!failure_.empty()) {
    part.end = StreamEnd::failed;
    part.reason = failure_;
  } else if (output_is_over_ && input_is_over_) {
    part.end = StreamEnd::done;
  }
  return part;
}

void ConnectionSource::write(std::string_view bytes, bool last) {
  if (is_last_) return;
  pending_ += bytes;
  is_last_ = last;
  if (is_connected_) flush();
}

void ConnectionSource::flush() {
  while (is_connected_ && failure_.empty() && !pending_.empty()) {
    const ssize_t sent = send(socket_.fd(), pending_.data(), pending_.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      taken_ += static_cast<std::uint64_t>(sent);
      pending_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      return socket_.when_writable([this] {
        flush();
        ready_();
      });
    } else {
      failure_ = std::strerror(errno);
      return ready_();
    }
  }
  if (!is_last_ || input_is_over_ || !is_connected_ || !failure_.empty()) return;
  input_is_over_ = true;
  shutdown(socket_.fd(), SHUT_WR);  // it may have been closed by the other side
  ready_();
}

}  // namespace berth
