#include "firmware-host/ctl/forwarded_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace berth {

ForwardedConnection::ForwardedConnection(const ApiClient::Engine& engine, asio::io_context& context, int socket,
                                         Target target, std::function<void(const std::string&)> ended)
    : engine_(engine), socket_(context, socket), target_(std::move(target)), ended_(std::move(ended)) {
  open();
}

ForwardedConnection::~ForwardedConnection() { engine_.timers.cancel(timer_); }

void ForwardedConnection::open() {
  StreamClient::Address address = target_.address;
  address.id += "-" + std::to_string(++opened_);
  stream_ = std::make_unique<StreamClient>(Topics(target_.fleet), std::move(address), engine_.clock, engine_.transport,
                                           engine_.timers, *this);
  stream_->open(target_.query);
}

// What the local side does not take yet gets no credit.
void ForwardedConnection::on_data(const std::string& bytes, const std::string&) {
  pending_ += bytes;
  stream_->hold(bytes.size());
  flush();
}

void ForwardedConnection::on_last() {
  is_last_ = true;
  flush();
}

void ForwardedConnection::flush() {
  while (!pending_.empty()) {
    const ssize_t sent = send(socket_.fd(), pending_.data(), pending_.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      pending_.erase(0, static_cast<std::size_t>(sent));
      stream_->taken(static_cast<std::uint64_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      return socket_.when_writable([this] { flush(); });
    } else {
      return end({});  // whoever has connected is gone
    }
  }
  if (is_last_ && !std::exchange(has_shut_down_, true)) shutdown(socket_.fd(), SHUT_WR);
  if (is_done_) end(failure_);
}

void ForwardedConnection::on_writable() {
  while (!input_is_over_ && stream_->writable() > 0) {
    std::string bytes(std::min<std::size_t>(kStreamPartBytes, stream_->writable()), '\0');
    const ssize_t got = recv(socket_.fd(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return socket_.when_readable([this] { on_writable(); });
    if (got < 0) return end({});
    bytes.resize(static_cast<std::size_t>(got));
    input_is_over_ = got == 0;
    stream_->write(bytes, input_is_over_);
  }
}

void ForwardedConnection::on_end(StreamEnd why, const std::string& reason) {
  if (why == StreamEnd::busy && !is_open_) {  // a device serves few streams: it waits until another one has ended
    timer_ = engine_.timers.at(engine_.clock.now() + kBusyAgainMs, [this] { open(); });
    return;
  }
  if (why != StreamEnd::done) failure_ = reason.empty() ? "the stream has ended" : reason;
  is_done_ = true;  // what came before is passed on nevertheless
  flush();
}

void ForwardedConnection::end(std::string failure) {
  engine_.timers.cancel(timer_);
  timer_ = engine_.timers.at(engine_.clock.now(), [call = ended_, text = std::move(failure)] { call(text); });
}

}  // namespace berth
