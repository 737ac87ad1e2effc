#include "firmware-host/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace berth {

namespace {

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value == nullptr ? "" : value;
  ::unsetenv(name);
  return taken;
}

long long number_in(const std::string& text) {
  long long number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? number : 0;
}

}  // namespace

ServiceManager::ServiceManager(const Clock& clock, Timers& timers) : clock_(clock), timers_(timers) {
  address_ = take_variable("NOTIFY_SOCKET");
  const long long watchdog_us = number_in(take_variable("WATCHDOG_USEC"));
  const std::string watchdog_pid = take_variable("WATCHDOG_PID");
  if (address_.empty() || (address_[0] != '/' && address_[0] != '@')) return;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool for_us = watchdog_pid.empty() || number_in(watchdog_pid) == ::getpid();
  // A third of systemd's timeout: one notification may be late, and one lost.
  if (watchdog_us > 0 && for_us) interval_ = std::max<Millis>(watchdog_us / 1000 / 3, 1);
}

ServiceManager::~ServiceManager() {
  timers_.cancel(timer_);
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::ready(std::string_view status) {
  send("READY=1\nSTATUS=" + std::string(status));
  if (interval_ == 0) return;
  last_feed_ = clock_.now();
  arm();
}

void ServiceManager::stopping() { send("STOPPING=1"); }

void ServiceManager::turn_ended() {
  if (timer_ == 0 || clock_.now() - last_feed_ < interval_) return;
  last_feed_ = clock_.now();
  send("WATCHDOG=1");
}

void ServiceManager::arm() {
  timer_ = timers_.at(clock_.now() + interval_, [this] { arm(); });
}

void ServiceManager::send(const std::string& text) const {
  if (socket_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (address_.size() >= sizeof(to.sun_path)) return;
  std::memcpy(to.sun_path, address_.data(), address_.size());
  if (address_[0] == '@') to.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  // Errors are ignored: there is nothing to do about a service manager that does not listen.
  static_cast<void>(
      ::sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), size));
}

}  // namespace berth
