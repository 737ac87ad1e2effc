#include "firmware-host/agent/processes/process_run.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "firmware-host/agent/child_limits.h"
#include "firmware-host/agent/output_pipe.h"
#include "firmware-host/agent/spawn.h"
#include "firmware-host/processor_slices.h"

namespace berth {

namespace {

// An error between vfork and exec.
struct Failure {
  enum class Where { command, directory, place };
  int error = 0;
  Where where = Where::command;
};

// What a container becomes, ready to be used: after vfork(2) nothing may be allocated.
struct Image {
  Image(const ProcessStart& start, int out, int err)
      : programs(to_pointers(start.programs)),
        argv(to_pointers(start.arguments)),
        env(to_pointers(start.env)),
        directory(start.directory.c_str()),
        place(start.place),
        output(out),
        errors(err) {}
  std::vector<char*> programs;
  std::vector<char*> argv;
  std::vector<char*> env;
  const char* directory;
  const ProcessPlace* place;
  int output;
  int errors;
  pid_t keeper = getpid();
};

// A change of user ends the first promise (prctl(2), PR_SET_PDEATHSIG).
void die_with_keeper(pid_t keeper) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(128);  // it died before prctl
}

bool go_to_place(const Image& image, volatile Failure& failure) {
  failure.where = Failure::Where::place;
  if (image.place != nullptr && !join_place(*image.place)) return false;
  failure.where = Failure::Where::directory;
  if (chdir(image.directory) != 0) return false;
  failure.where = Failure::Where::place;
  return image.place == nullptr || take_identity(image.place->identity);
}

// In the memory of the keeper, which waits.
[[noreturn]] void become_container(const Image& image, volatile Failure& failure) {
  die_with_keeper(image.keeper);
  setpgid(0, 0);
  reset_oom_score();
  give_up_resources();
  take_usual_slices();
  dup2(image.output, 1);
  dup2(image.errors, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (go_to_place(image, failure)) {
    die_with_keeper(image.keeper);
    failure.where = Failure::Where::command;
    failure.error = execute_first(image.programs.data(), image.argv.data(), image.env.data());
  } else {
    failure.error = errno;
  }
  _exit(128);
}

// vfork(2) since a copy of the keeper would be thrown away at once: on a slow machine it costs more than the program's
// own start. Its other half is here, in a function with nothing that the child could change under the parent's feet.
[[gnu::noinline]] pid_t spawn_container(const Image& image, volatile Failure& failure) {
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions): see above
  if (pid == 0) become_container(image, failure);
  return pid;
}

// A child of the keeper that leads a process group of its own and is killed when the keeper exits.
class ProcessRun final : public ContainerRun {
 public:
  ProcessRun(pid_t process, std::function<bool()> is_out_of_memory)
      : process_(process), ask_(std::move(is_out_of_memory)) {}

  // Its group may still have others, and its number is nobody else's as long as it is not reaped.
  void note_exit(pid_t child) override {
    if (child == process_) signal(SIGKILL);
  }
  bool take_exit(pid_t child, int wait_status) override {
    if (child != process_ || status_) return false;
    status_ = wait_status;
    is_out_of_memory_ = ask_ && ask_();
    return true;
  }
  bool has_begun() const override { return true; }
  bool has_ended() const override { return status_.has_value(); }
  pid_t process() const override { return process_; }
  // It may have left its group.
  void signal(int number) override {
    if (status_) return;
    if (::kill(-process_, number) != 0 || number == SIGKILL) ::kill(process_, number);
  }
  void kill() override { signal(SIGKILL); }
  int status() const override { return status_.value_or(0); }
  const std::string& failure() const override { return failure_; }
  bool is_out_of_memory() const override { return is_out_of_memory_; }

 private:
  const pid_t process_;
  std::optional<int> status_;
  const std::string failure_;
  const std::function<bool()> ask_;
  bool is_out_of_memory_ = false;
};

std::string text_of(const ProcessStart& start, Failure::Where where, int error) {
  const std::string why = std::string(": ") + std::strerror(error);
  switch (where) {
    case Failure::Where::directory: return "workingDir " + start.directory + why;
    case Failure::Where::place: return "cannot enter the pod's sandbox" + why;
    case Failure::Where::command: break;
  }
  return "command " + start.arguments.front() + why;
}

}  // namespace

std::vector<std::string> programs_for(const std::string& command, std::string_view search_path) {
  if (command.find('/') != std::string::npos) return {command};
  std::vector<std::string> programs;
  while (!search_path.empty()) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    if (search_path.starts_with('/')) programs.push_back(std::string(search_path.substr(0, end)) + "/" + command);
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
  }
  return programs;
}

int execute_first(char* const* programs, char* const* arguments, char* const* environment) {
  int error = ENOENT;
  for (; *programs != nullptr; ++programs) {
    execve(*programs, arguments, environment);
    if (errno == ENOENT || errno == ENOTDIR) continue;
    error = errno;
    if (errno != EACCES) break;
  }
  return error;
}

Result<StartedRun> start_process(ProcessStart start) {
  OutputPipe output, errors;
  if (!output.open() || (start.has_errors && !errors.open()))
    return Status::error(std::string("pipe: ") + std::strerror(errno));
  const Image image(start, output.writing(), start.has_errors ? errors.writing() : output.writing());
  volatile Failure failure;
  const pid_t pid = spawn_container(image, failure);
  const int error = pid < 0 ? errno : failure.error;
  if (error == 0) {
    return StartedRun{std::make_unique<ProcessRun>(pid, std::move(start.is_out_of_memory)), output.take_reading(),
                      errors.take_reading()};
  }
  if (pid < 0) return Status::error(std::string("cannot start a process: ") + std::strerror(error));
  waitpid(pid, nullptr, 0);
  return Status::error(text_of(start, failure.where, error));
}

}  // namespace berth
