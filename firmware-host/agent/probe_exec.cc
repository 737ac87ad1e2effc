#include "firmware-host/agent/probe_exec.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/framework/waiting_pods.h"

namespace berth {

ExecCheck::ExecCheck(const HandlerPlan& handler, const CheckSite& site) : handler_(handler) {
  Result<StartedRun> started = site.starter.exec(site.container, handler.command);
  if (started) {
    run_ = std::move(started->run);
    watch(started->output, POLLIN);
  } else {
    end(ProbeResult::unknown, started.error().message());
  }
}

// What it has started waits for nobody then.
ExecCheck::~ExecCheck() {
  if (run_) run_->kill();
}

void ExecCheck::on_ready() {
  std::array<char, 8192> part;
  const ssize_t n = read(fd(), part.data(), part.size());
  if (n == 0) watch(-1, 0);  // it may go on without an output
  if (n <= 0) return;
  output_.append(part.data(), std::min(static_cast<std::size_t>(n), kOutputBytesMax - output_.size()));
}

bool ExecCheck::on_exit(pid_t pid, int wait_status) {
  if (!run_ || !run_->take_exit(pid, wait_status)) return false;
  if (!run_->has_ended()) return true;
  run_.reset();
  for (std::size_t before = output_.size() + 1; fd() >= 0 && output_.size() != before;) {
    before = output_.size();
    on_ready();
  }
  const bool is_success = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  if (output_.empty() && WIFSIGNALED(wait_status)) {
    output_ = "command was ended by signal " + std::to_string(WTERMSIG(wait_status));
  } else if (output_.empty()) {
    output_ = "command exited with " + std::to_string(WEXITSTATUS(wait_status));
  }
  end(is_success ? ProbeResult::success : ProbeResult::failure, is_success ? std::string() : std::move(output_));
  return true;
}

std::string ExecCheck::timed_out(Millis after) const {
  std::string command;
  for (const std::string& argument : handler_.command) command += (command.empty() ? "" : " ") + argument;
  return "command \"" + command + "\" timed out after " + duration_text(after);
}

}  // namespace berth
