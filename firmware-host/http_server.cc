#include "firmware-host/http_server.h"

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <deque>

namespace berth {

namespace {

using asio::ip::tcp;

constexpr std::size_t kDrainedMax = 64 << 10;  // read and discarded after the response
constexpr Millis kAcceptAgainMs = 1000;        // delay after a failed accept, for example without free descriptors

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    case 505: return "HTTP Version Not Supported";
    default: return "Internal Server Error";
  }
}

HttpResponse refusal(int status) { return {status, std::string(reason_of(status)) + "\n"}; }

// One connection: reads the head, responds, then reads until the client closes (closing first with unread bytes left
// could lose the response), all within one deadline.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const HttpServer::Options& options, const HttpServer::Answer& answer)
      : socket_(std::move(socket)), reader_(options.request_bytes_max), answer_(&answer) {}

  void read() {
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](const asio::error_code& error, std::size_t length) {
                              self->on_read(error, length);
                            });
  }
  void close() {
    asio::error_code ignored;
    socket_.close(ignored);
    answer_ = nullptr;  // the server may be gone
  }
  bool is_open() const { return socket_.is_open(); }
  Timers::Id deadline = 0;

 private:
  void on_read(const asio::error_code& error, std::size_t length) {
    if (error || answer_ == nullptr) return close();
    if (answered_) {
      drained_ += length;
      return drained_ > kDrainedMax ? close() : read();
    }
    switch (reader_.feed({buffer_.data(), length})) {
      case HttpRequestReader::Progress::more: return read();
      case HttpRequestReader::Progress::refused: return write(to_bytes(refusal(reader_.status()), false));
      case HttpRequestReader::Progress::done: break;
    }
    write(to_bytes((*answer_)(reader_.request()), reader_.request().method == "HEAD"));
  }
  void write(std::string bytes) {
    answered_ = true;
    out_ = std::move(bytes);
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                        if (error || self->answer_ == nullptr) return self->close();
                        asio::error_code ignored;
                        self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
                        self->read();
                      });
  }

  tcp::socket socket_;
  HttpRequestReader reader_;
  const HttpServer::Answer* answer_;
  std::array<char, 2048> buffer_{};
  std::string out_;
  bool answered_ = false;
  std::size_t drained_ = 0;
};

}  // namespace

std::string to_bytes(const HttpResponse& response, bool head) {
  std::string bytes = "HTTP/1.1 " + std::to_string(response.status) + ' ' + std::string(reason_of(response.status));
  bytes += "\r\nContent-Type: " + response.content_type;
  bytes += "\r\nContent-Length: " + std::to_string(response.body.size());
  if (response.status == 405) bytes += "\r\nAllow: GET, HEAD";
  bytes += "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
  if (!head) bytes += response.body;
  return bytes;
}

class HttpServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& context, const Clock& clock, Timers& timers, Log& log, Options options, Answer answer)
      : clock_(clock),
        timers_(timers),
        log_(log),
        options_(std::move(options)),
        answer_(std::move(answer)),
        acceptor_(context) {}

  Status start() {
    asio::error_code error;
    const asio::ip::address address = asio::ip::make_address(options_.listen, error);
    if (error)
      return Status::error("http.listen: expected an IP address such as 127.0.0.1, got \"" + options_.listen + "\"");
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (error) {
      const bool taken = error == asio::error::address_in_use;
      asio::error_code ignored;
      acceptor_.close(ignored);
      const std::string text =
          "http: cannot listen on " + options_.listen + ":" + std::to_string(options_.port) + ": " + error.message();
      return {taken ? Code::unschedulable : Code::error, text};
    }
    port_ = acceptor_.local_endpoint(error).port();
    accept();
    return Status::ok();
  }

  void stop() {
    asio::error_code ignored;
    acceptor_.close(ignored);
    timers_.cancel(again_);
    for (const auto& connection : connections_) drop(*connection);
    connections_.clear();
  }

  std::uint16_t port_ = 0;

 private:
  void accept() {
    acceptor_.async_accept([self = shared_from_this()](const asio::error_code& error, tcp::socket socket) {
      if (!self->acceptor_.is_open()) return;
      if (error) return self->accept_later(error);
      self->take(std::move(socket));
      self->accept();
    });
  }

  void accept_later(const asio::error_code& error) {
    log_.write(Level::warn, "cannot accept http connection", {{"reason", error.message()}});
    again_ = timers_.at(clock_.now() + kAcceptAgainMs, [this] { accept(); });
  }

  void take(tcp::socket socket) {
    std::erase_if(connections_, [this](const auto& each) {
      if (!each->is_open()) drop(*each);  // its deadline is still set
      return !each->is_open();
    });
    if (connections_.size() >= options_.connections_max) {
      drop(*connections_.front());
      connections_.pop_front();
    }
    auto connection = std::make_shared<Connection>(std::move(socket), options_, answer_);
    connection->deadline = timers_.at(clock_.now() + options_.connection_ms_max, [raw = connection.get()] {
      raw->deadline = 0;
      raw->close();
    });
    connections_.push_back(connection);
    connection->read();
  }

  void drop(Connection& connection) {
    timers_.cancel(connection.deadline);
    connection.close();
  }

  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Options options_;
  Answer answer_;
  tcp::acceptor acceptor_;
  std::deque<std::shared_ptr<Connection>> connections_;  // oldest first; closed ones are removed at the next accept
  Timers::Id again_ = 0;
};

HttpServer::HttpServer(asio::io_context& context, const Clock& clock, Timers& timers, Log& log, Options options,
                       Answer answer)
    : impl_(std::make_shared<Impl>(context, clock, timers, log, std::move(options), std::move(answer))) {}
HttpServer::~HttpServer() { impl_->stop(); }
Status HttpServer::start() { return impl_->start(); }
std::uint16_t HttpServer::port() const { return impl_->port_; }

}  // namespace berth
