// ProbeServer: a server on loopback, in a process of its own, that does the same with each connection.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>

namespace berth {

class ProbeServer {
 public:
  using Serve = void (*)(int fd);

  // serve: null: it takes no connection, and the kernel makes them nevertheless.
  explicit ProbeServer(Serve serve) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener, 16), 0);
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    pid_ = fork();
    if (pid_ == 0) run(listener, serve);
    close(listener);
  }
  ~ProbeServer() { end(); }
  ProbeServer(const ProbeServer&) = delete;
  ProbeServer& operator=(const ProbeServer&) = delete;

  int port() const { return port_; }
  // Nobody listens there any more.
  void end() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  static std::string request(int fd) {
    std::string text;
    for (char c = 0; !text.ends_with("\r\n\r\n") && read(fd, &c, 1) == 1;) text += c;
    return text;
  }
  static bool send(int fd, std::string_view text) {
    return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

 private:
  [[noreturn]] static void run(int listener, Serve serve) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (serve == nullptr) pause();
    for (;;) {
      const int fd = accept(listener, nullptr, nullptr);
      if (fd < 0) _exit(1);
      serve(fd);
      close(fd);
    }
  }

  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace berth
