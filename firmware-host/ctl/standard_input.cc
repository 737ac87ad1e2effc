#include "firmware-host/ctl/standard_input.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace berth {

// The loop watches a set of one descriptor, and so touches the set only.
StandardInput::StandardInput(asio::io_context& context, int fd, std::function<void()> ready)
    : fd_(fd), ready_(std::move(ready)) {
  const int set = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLONESHOT;
  if (set >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0) {
    watch_ = std::make_unique<FdWatch>(context, set, [this] { on_ready(); });
  } else if (set >= 0) {
    close(set);
  }
}

StandardInput::~StandardInput() = default;

bool StandardInput::is_ready() {
  if (!watch_ || is_ready_) return true;
  if (is_armed_) return false;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  is_armed_ = epoll_ctl(watch_->fd(), EPOLL_CTL_MOD, fd_, &event) == 0;
  return !is_armed_;
}

void StandardInput::on_ready() {
  epoll_event event{};
  if (epoll_wait(watch_->fd(), &event, 1, 0) < 1) return;
  is_armed_ = false;
  is_ready_ = true;
  ready_();
}

std::string StandardInput::read(std::size_t bytes_max) {
  is_ready_ = false;
  std::string bytes(bytes_max, '\0');
  ssize_t got = 0;
  do {
    got = ::read(fd_, bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// All keys, those that make signals included, go to the program; it echoes, and says where lines end.
RawTerminal::RawTerminal(asio::io_context& context, int fd, std::function<void()> resized)
    : fd_(fd), before_(std::make_unique<termios>()) {
  tcgetattr(fd_, before_.get());
  termios raw = *before_;
  cfmakeraw(&raw);
  tcsetattr(fd_, TCSADRAIN, &raw);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGWINCH);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int file = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file < 0) return;
  watch_ = std::make_unique<FdWatch>(context, file, [this, tell = std::move(resized)] {
    signalfd_siginfo signal{};
    while (::read(watch_->fd(), &signal, sizeof signal) > 0) continue;
    tell();
  });
}

RawTerminal::~RawTerminal() { tcsetattr(fd_, TCSADRAIN, before_.get()); }

TerminalSize RawTerminal::size_of(int fd) {
  winsize window{};
  if (ioctl(fd, TIOCGWINSZ, &window) != 0) return {};
  return {window.ws_row, window.ws_col};
}

bool RawTerminal::is_terminal(int fd) { return isatty(fd) == 1; }

}  // namespace berth
