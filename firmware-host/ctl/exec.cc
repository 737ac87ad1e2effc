// exec: runs a command in a container of a pod, on the device that has it, past the gateway. Its exit code is the
// program's; that it has ended is known only from the device: a lost connection is a failure, since a second command
// would not be the same one.
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/device_command.h"
#include "firmware-host/ctl/standard_input.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

class ExecCommand final : public StreamCommand {
 public:
  ExecCommand(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context, ExecQuery query,
              const Screen& screen, int input)
      : StreamCommand(std::move(engine), std::move(address), context, query.pod, "exec",
                      "the device ends the command within 20 s"),
        context_(context),
        query_(std::move(query)),
        screen_(screen),
        input_fd_(input) {}

  Outcome<int> run() {
    const std::optional<Failure> failure = run_engine();
    terminal_.reset();
    if (failure) return std::unexpected(*failure);
    if (!exit_code_) return fail(Exit::interrupted, "interrupted");
    return *exit_code_;
  }

  void on_located(const std::string&, const std::string& uid) override {
    query_.uid = uid;
    open_stream(query_);
  }
  void on_opened(const std::string& container, const std::vector<std::string>& containers) override {
    stop_deadline();
    if (query_.container.empty() && containers.size() > 1) {
      tell_defaulted(screen_.err, container, containers);
    }
    if (query_.terminal) {
      terminal_ = std::make_unique<RawTerminal>(context_, input_fd_,
                                                [this] { stream()->resize(RawTerminal::size_of(input_fd_)); });
    }
    if (query_.input) send_input(input_fd_);
  }
  void on_data(const std::string& bytes, const std::string&) override { show(screen_.out, bytes); }
  void on_errors(const std::string& bytes) override { show(screen_.err, bytes); }

 private:
  void locate() override { locator().begin(); }
  bool is_complete() override {
    exit_code_ = stream()->exit_code();
    return exit_code_.has_value();
  }
  void show(std::ostream& to, const std::string& bytes) {
    to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    to.flush();
    if (!to) give_up({Exit::system, "cannot write the output"});
  }

  asio::io_context& context_;
  ExecQuery query_;
  const Screen& screen_;
  const int input_fd_;
  std::unique_ptr<RawTerminal> terminal_;
  std::optional<int> exit_code_;
};

}  // namespace

Outcome<int> exec_in_pod(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                         ExecQuery query, const Screen& screen, int input) {
  return ExecCommand(std::move(engine), std::move(address), context, std::move(query), screen, input).run();
}

Outcome<void> run_exec(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                       const CtlOptions& options, const Screen& screen) {
  ExecQuery query;
  query.pod = namespace_of(options) + "/" + options.name;
  query.container = options.exec.container;
  query.command = options.exec.command;
  query.input = options.exec.input;
  query.terminal = options.exec.terminal;
  if (query.terminal && !RawTerminal::is_terminal(STDIN_FILENO)) {
    screen.err << "Unable to use a TTY: standard input is no terminal\n";
    query.terminal = false;
  }
  if (query.terminal) query.size = RawTerminal::size_of(STDIN_FILENO);
  const Outcome<int> code =
      exec_in_pod(std::move(engine), std::move(address), context, std::move(query), screen, STDIN_FILENO);
  if (!code) return std::unexpected(code.error());
  if (*code == 0) return {};
  return fail(static_cast<Exit>(*code), "command terminated with exit code " + std::to_string(*code));
}

}  // namespace berth
