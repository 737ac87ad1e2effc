// StandardInput: reads a descriptor that other programs share, such as standard input, without blocking the loop and
// without making it non-blocking for them. RawTerminal: a terminal whose keys go to a program elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/streams/stream_query.h"
#include "firmware-host/fd_watch.h"

struct termios;

namespace berth {

class StandardInput {
 public:
  // `ready`: is_ready() has become true. The context must outlive it.
  StandardInput(asio::io_context& context, int fd, std::function<void()> ready);
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  // Whether read() does not block. If not, `ready` is called once it is so.
  bool is_ready();
  // At most so many bytes; none: its end.
  std::string read(std::size_t bytes_max);

 private:
  void on_ready();

  const int fd_;
  const std::function<void()> ready_;
  std::unique_ptr<FdWatch> watch_;  // null: a file, which is always ready
  bool is_ready_ = false;
  bool is_armed_ = false;
};

class RawTerminal {
 public:
  // `resized`: it has another size. The context must outlive it.
  RawTerminal(asio::io_context& context, int fd, std::function<void()> resized);
  ~RawTerminal();  // as it was before
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Of the terminal; zeros: it is none.
  static TerminalSize size_of(int fd);
  static bool is_terminal(int fd);

 private:
  const int fd_;
  std::unique_ptr<termios> before_;
  std::unique_ptr<FdWatch> watch_;
};

}  // namespace berth
