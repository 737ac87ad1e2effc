#include "firmware-host/agent/streams/exec_source.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace berth {

namespace {

constexpr const char* kEndOfInput = "\x04";  // as it is typed at a terminal

std::unique_ptr<FdPoll> poll_of(asio::io_context& context, int file) {
  return file < 0 ? nullptr : std::make_unique<FdPoll>(context, file);
}

}  // namespace

ExecSource::ExecSource(asio::io_context& context, const ExecChild& child, std::function<bool()> kill,
                       std::function<void()> ready, EndingCommands& ended)
    : pid_(child.pid),
      has_terminal_(child.errors < 0),
      kill_(std::move(kill)),
      ready_(std::move(ready)),
      ended_(ended),
      input_(poll_of(context, child.input)),
      output_(poll_of(context, child.output)),
      errors_(poll_of(context, child.errors)),
      exit_(std::make_unique<FdWatch>(context, child.pidfd, [this] { on_exit(); })) {}

ExecSource::~ExecSource() {
  if (!exit_) return;
  // Themselves, not copies: with no descriptors left there would be none, and nobody would learn that the child exits.
  const auto released = [](const auto& file) { return Descriptor(file ? file->release() : -1); };
  ended_.add({pid_, released(exit_), released(output_), released(errors_), kill_});
}

void ExecSource::on_exit() {
  siginfo_t ended{};
  if (waitid(P_PIDFD, static_cast<id_t>(exit_->fd()), &ended, WEXITED | WNOHANG) != 0 || ended.si_pid == 0) return;
  exit_code_ = ended.si_code == CLD_EXITED ? ended.si_status : 128 + ended.si_status;
  exit_.reset();
  ready_();
}

std::string ExecSource::read_from(std::unique_ptr<FdPoll>& file, std::size_t bytes_max) {
  if (!file) return {};
  std::string bytes(bytes_max, '\0');
  const ssize_t got = ::read(file->fd(), bytes.data(), bytes.size());
  const bool is_later = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (is_later) file->when_readable(ready_);
  if (!is_later && got <= 0) file.reset();  // a terminal that nobody has open any more fails
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

// What it has written before it exits is there by then: of a terminal once that is closed, since what is written to one
// arrives later.
StreamSource::Part ExecSource::read(std::size_t bytes_max) {
  for (int turn = 0; turn < 2; ++turn) {
    errors_first_ = !errors_first_;
    const bool is_errors = !errors_first_;
    std::string bytes = read_from(is_errors ? errors_ : output_, bytes_max);
    if (!bytes.empty()) return {.bytes = std::move(bytes), .more = true, .errors = is_errors};
  }
  if (!exit_code_ || (has_terminal_ && output_)) return {};
  return {.end = StreamEnd::done, .exit_code = exit_code_};
}

int ExecSource::input_file() const {
  const FdPoll* file = has_terminal_ ? output_.get() : input_.get();
  return file == nullptr ? -1 : file->fd();
}

void ExecSource::write(std::string_view bytes, bool last) {
  if (is_last_) return;
  pending_ += bytes;
  is_last_ = last;
  if (last && has_terminal_) pending_ += kEndOfInput;
  flush();
}

void ExecSource::flush() {
  while (!pending_.empty() && takes_input_) {
    if (input_file() < 0) {  // a terminal that has been closed
      takes_input_ = false;
      break;
    }
    const ssize_t written = ::write(input_file(), pending_.data(), pending_.size());
    if (written >= 0) {
      taken_ += static_cast<std::uint64_t>(written);
      pending_.erase(0, static_cast<std::size_t>(written));
    } else if (errno == EAGAIN || errno == EINTR) {
      FdPoll& file = has_terminal_ ? *output_ : *input_;
      return file.when_writable([this] {
        flush();
        ready_();
      });
    } else {
      takes_input_ = false;
    }
  }
  drop_input();
}

// What the command does not read any more is taken nevertheless, so that the operator is not held up.
void ExecSource::drop_input() {
  taken_ += pending_.size();
  pending_.clear();
  if (is_last_ || !takes_input_) input_.reset();
}

void ExecSource::resize(TerminalSize size) {
  if (has_terminal_ && output_) set_size(output_->fd(), size);
}

}  // namespace berth
