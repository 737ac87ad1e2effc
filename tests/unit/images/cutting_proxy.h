// CuttingProxy: a TCP proxy in a process of its own that closes each connection after so many bytes to the client,
// counts them all, and holds them when told to.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace berth {

class CuttingProxy {
 public:
  // In front of 127.0.0.1:target. `most`: bytes to the client of one connection.
  CuttingProxy(int target, std::int64_t most) {
    shared_ =
        static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    shared_->most = most;
    shared_->left = std::int64_t{1} << 60;
    shared_->held_from = std::int64_t{1} << 60;
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = address_of(0);
    const bool is_listening =
        bind(listening_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 && listen(listening_, 64) == 0;
    if (!is_listening) std::abort();
    socklen_t size = sizeof at;
    getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    pid_ = fork();
    if (pid_ == 0) serve(target);
  }
  ~CuttingProxy() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(listening_);
    munmap(shared_, sizeof(Shared));
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::int64_t bytes() const { return shared_->bytes; }
  // Of all connections together, from now on; no further byte after them.
  void allow(std::int64_t all) { shared_->left = all; }
  void set_most(std::int64_t most) { shared_->most = most; }
  // After so many bytes to the client, all connections together, the following ones wait for release().
  void hold_from(std::int64_t bytes) { shared_->held_from = bytes; }
  void release() { shared_->held_from = std::int64_t{1} << 60; }

 private:
  struct Shared {
    std::atomic<std::int64_t> most;
    std::atomic<std::int64_t> bytes;
    std::atomic<std::int64_t> left;
    std::atomic<std::int64_t> held_from;
  };

  static sockaddr_in address_of(int port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    return at;
  }

  [[noreturn]] void serve(int target) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGCHLD, SIG_IGN);
    for (;;) {
      const int client = accept(listening_, nullptr, nullptr);
      if (client < 0) continue;
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        relay(client, target);
        _exit(0);
      }
      close(client);
    }
  }

  void relay(int client, int target) {
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in at = address_of(target);
    if (connect(server, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return;
    std::int64_t sent = 0;
    std::array<char, 4096> buffer;
    std::array<pollfd, 2> ends{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    while (poll(ends.data(), ends.size(), -1) > 0) {
      for (const bool is_down : {false, true}) {
        if (ends[is_down ? 1 : 0].revents == 0) continue;
        const ssize_t n = read(is_down ? server : client, buffer.data(), buffer.size());
        if (n <= 0) return;
        if (is_down && (sent + n > shared_->most || shared_->left < n)) return;
        while (is_down && shared_->bytes + n > shared_->held_from) poll(nullptr, 0, 1);
        if (write(is_down ? client : server, buffer.data(), static_cast<std::size_t>(n)) != n) return;
        if (!is_down) continue;
        sent += n;
        shared_->bytes += n;
        shared_->left -= n;
      }
    }
  }

  Shared* shared_;
  int listening_;
  int port_ = 0;
  pid_t pid_;
};

}  // namespace berth
