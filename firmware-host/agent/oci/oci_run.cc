#include "firmware-host/agent/oci/oci_run.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/json/json.h"
#include "core/json/members.h"
#include "firmware-host/agent/spawn.h"

namespace berth {

namespace {

constexpr const char* kPidFile = "pid";
constexpr const char* kLogFile = "runtime.log";
constexpr std::size_t kLogBytesRead = 16 * 1024;

// The end of a text file, at most kLogBytesRead.
std::string end_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(kLogBytesRead)));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The last error of a log of JSON lines ({"level":"error","msg":...}), as crun and runc write it.
std::string last_error_in(const std::string& log) {
  std::string found;
  for (std::string_view rest = log; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const Result<Json> line = Json::parse(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line && line->string_at("level") == "error") found = line->string_at("msg");
  }
  return found;
}

}  // namespace

Status OciRun::execute(std::vector<std::string> arguments, int output, int errors) {
  arguments.insert(arguments.begin(),
                   {place_.program, "--root", place_.state, "--log", file(kLogFile), "--log-format", "json"});
  const Result<pid_t> started = spawn(place_.program, arguments, nullptr, {-1, output, errors});
  if (!started) return started.error();
  program_ = *started;
  return Status::ok();
}

Status OciRun::begin() {
  unlink(file(kPidFile).c_str());
  unlink(file(kLogFile).c_str());
  return execute({"create", "--bundle", place_.bundle, "--pid-file", file(kPidFile), place_.id}, output_, errors_);
}

bool OciRun::take_exit(pid_t process, int status) {
  if (process_ != 0 && process == process_) {
    has_ended_ = true;
    status_ = status;
    // "start" waits for it, in vain from now on.
    if (phase_ == Phase::starting && program_ != 0) ::kill(program_, SIGKILL);
    // While a program of the runtime runs, its own end goes on with it.
    if (program_ == 0 && phase_ == Phase::running) remove();
    return true;
  }
  if (program_ == 0 || process != program_) return false;
  program_ = 0;
  const bool succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  switch (phase_) {
    case Phase::creating:
      if (succeeded) {
        take_created();
      } else {
        fail("create");
      }
      break;
    case Phase::starting:
      if (!succeeded && !has_ended_) {
        fail("start");
      } else if (has_ended_ || is_killed_) {
        remove();
      } else {
        phase_ = Phase::running;
      }
      break;
    case Phase::removing:
      if (!succeeded && !has_ended_) note_failure("delete");
      phase_ = Phase::ended;
      break;
    case Phase::running:
    case Phase::ended: break;
  }
  return true;
}

void OciRun::take_created() {
  const std::string text = end_of(file(kPidFile));
  std::from_chars(text.data(), text.data() + text.size(), process_);
  // It may have ended, and been reaped, before its number was known here.
  siginfo_t info{};
  if (process_ <= 0 || waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    process_ = 0;
    return fail("create");
  }
  if (is_killed_) return remove();
  phase_ = Phase::starting;
  if (Status started = execute({"start", place_.id}); !started.is_success()) {
    failure_ = started.message();
    remove();
  }
}

void OciRun::fail(const std::string& command) {
  if (!is_killed_) note_failure(command);
  remove();
}

void OciRun::note_failure(const std::string& command) {
  if (!failure_.empty()) return;
  const std::string why = last_error_in(end_of(file(kLogFile)));
  failure_ = why.empty() ? place_.program + " " + command + " failed" : why;
}

void OciRun::signal(int number) const {
  if (process_ > 0 && !has_ended_) ::kill(process_, number);
}

void OciRun::kill() {
  if (phase_ == Phase::ended) return;
  // A program of the runtime that runs ends by itself, and the run goes on from there. Whoever waits for that in vain
  // kills again.
  if (std::exchange(is_killed_, true) && program_ != 0) ::kill(program_, SIGKILL);
  if (program_ == 0) remove();
}

// With --force the runtime kills what is left, and a container that is not there is no fault.
void OciRun::remove() {
  phase_ = Phase::removing;
  if (!execute({"delete", "--force", place_.id}).is_success()) phase_ = Phase::ended;
}

}  // namespace berth
