#include "firmware-host/agent/probe_tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth {

namespace {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

Endpoint endpoint_of(const std::string& address, int port) {
  Endpoint endpoint;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&endpoint.address, &four, sizeof four);
    endpoint.length = sizeof four;
  } else if (inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&endpoint.address, &six, sizeof six);
    endpoint.length = sizeof six;
  }
  return endpoint;
}

// On loopback the kernel may take the wanted port itself as the one to connect from, and then connects with nobody but
// itself: there is no server (as Go's net, which tries again).
bool is_own(int fd) {
  Endpoint own;
  Endpoint other;
  own.length = other.length = sizeof own.address;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&own.address), &own.length) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&other.address), &other.length) == 0 &&
         own.length == other.length && std::memcmp(&own.address, &other.address, own.length) == 0;
}

Status connect_error(int error) { return Status::error(std::string("connect: ") + std::strerror(error)); }

}  // namespace

Result<int> begin_connect(const std::string& address, int port) {
  const Endpoint endpoint = endpoint_of(address, port);
  if (endpoint.length == 0) return Status::error("'" + address + "' is no address");
  const int fd = socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  // Nothing is known then of the container.
  if (fd < 0) return Status::pending(std::string("socket: ") + std::strerror(errno));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.length) == 0 || errno == EINPROGRESS) {
    return fd;
  }
  const int error = errno;
  close(fd);
  return connect_error(error);
}

Status end_connect(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error == 0 && is_own(fd)) error = ECONNREFUSED;
  return error == 0 ? Status::ok() : connect_error(error);
}

std::string host_and_port(const std::string& host, int port) {
  const bool is_six = host.find(':') != std::string::npos;
  return (is_six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

TcpCheck::TcpCheck(const HandlerPlan& handler, const std::string& host)
    : target_("dial tcp " + host_and_port(host, handler.port)) {
  const Result<int> fd = begin_connect(host, handler.port);
  if (fd) {
    watch(*fd, POLLOUT);
  } else {
    const bool is_unknown = fd.error().code() == Code::pending;
    end(is_unknown ? ProbeResult::unknown : ProbeResult::failure, target_ + ": " + fd.error().message());
  }
}

void TcpCheck::on_ready() {
  const Status connected = end_connect(fd());
  if (connected.is_success()) return end(ProbeResult::success);
  end(ProbeResult::failure, target_ + ": " + connected.message());
}

std::string TcpCheck::timed_out(Millis /*after*/) const { return target_ + ": i/o timeout"; }

}  // namespace berth
