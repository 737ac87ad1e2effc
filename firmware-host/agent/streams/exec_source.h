// ExecSource: a command that runs for an operator, as a stream: what it writes is read when it may be sent, and what
// the operator sends is kept until the command reads it. Destroying it kills the command.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/streams/stream_source.h"
#include "firmware-host/agent/streams/ending_commands.h"
#include "firmware-host/agent/streams/exec_child.h"
#include "firmware-host/fd_poll.h"
#include "firmware-host/fd_watch.h"

namespace berth {

class ExecSource final : public StreamSource {
 public:
  // `kill`: as EndingCommand::kill. `ready`: as StreamSources::open(). `ended` gets a child that must be killed. The
  // context and `ended` must outlive it.
  ExecSource(asio::io_context& context, const ExecChild& child, std::function<bool()> kill, std::function<void()> ready,
             EndingCommands& ended);
  ~ExecSource() override;

  Part read(std::size_t bytes_max) override;
  void write(std::string_view bytes, bool last) override;
  std::uint64_t taken() const override { return taken_; }
  void resize(TerminalSize size) override;

 private:
  // Nothing: it has none now, or has been closed.
  std::string read_from(std::unique_ptr<FdPoll>& file, std::size_t bytes_max);
  void on_exit();
  int input_file() const;
  void flush();
  void drop_input();

  const pid_t pid_;
  const bool has_terminal_;
  const std::function<bool()> kill_;
  const std::function<void()> ready_;
  EndingCommands& ended_;
  std::unique_ptr<FdPoll> input_;  // null: closed, or the terminal
  std::unique_ptr<FdPoll> output_;
  std::unique_ptr<FdPoll> errors_;
  std::unique_ptr<FdWatch> exit_;  // null: it has been reaped
  std::optional<int> exit_code_;
  bool errors_first_ = false;  // they take turns
  std::string pending_;        // input
  bool is_last_ = false;       // nothing follows it
  bool takes_input_ = true;
  std::uint64_t taken_ = 0;
};

}  // namespace berth
