#include "firmware-host/agent/container_starter.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "firmware-host/processor_slices.h"

namespace berth {

namespace {

std::vector<char*> to_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// An error between vfork and exec.
struct Failure {
  int error = 0;
  bool in_directory = false;
};

// What a container becomes, ready to be used: after vfork(2) nothing may be allocated.
struct Image {
  Image(const ContainerPlan& plan, const std::vector<std::string>& arguments, int out)
      : argv(to_pointers(arguments)), env(to_pointers(plan.env)), directory(plan.directory.c_str()), output(out) {}
  std::vector<char*> argv;
  std::vector<char*> env;
  const char* directory;
  int output;
  pid_t keeper = getpid();
};

// What protects the agent from the kernel's out-of-memory killer is not for what it starts: 0 is what a process has
// that nobody set anything for. Should the kernel refuse, the container runs with the agent's.
void reset_oom_score() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t written = write(file, "0", 1);
  static_cast<void>(written);
  close(file);
}

// Who has it writes beyond any quota of ext4, so no container has it, as with Docker and containerd. An agent that may
// not take it away is no root, and neither are its containers.
void give_up_resources() { prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE); }

// In the memory of the keeper, which waits.
[[noreturn]] void become_container(const Image& image, volatile Failure& failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != image.keeper) _exit(128);  // the keeper died before prctl
  setpgid(0, 0);
  reset_oom_score();
  give_up_resources();
  take_usual_slices();
  dup2(image.output, 1);
  dup2(image.output, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  failure.in_directory = chdir(image.directory) != 0;
  if (!failure.in_directory) execve(image.argv[0], image.argv.data(), image.env.data());
  failure.error = errno;
  _exit(128);
}

// vfork(2) since a copy of the keeper would be thrown away at once: on a slow machine it costs more than the program's
// own start. Its other half is here, in a function with nothing that the child could change under the parent's feet.
[[gnu::noinline]] pid_t spawn(const Image& image, volatile Failure& failure) {
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions): see above
  if (pid == 0) become_container(image, failure);
  return pid;
}

// The program is the first of `arguments`.
Result<StartedProcess> start_process(const ContainerPlan& plan, const std::vector<std::string>& arguments) {
  std::array<int, 2> output{-1, -1};
  if (pipe2(output.data(), O_CLOEXEC) != 0) return Status::error(std::string("pipe: ") + std::strerror(errno));
  const Image image(plan, arguments, output[1]);
  volatile Failure failure;
  const pid_t pid = spawn(image, failure);
  const int error = pid < 0 ? errno : failure.error;
  close(output[1]);
  if (error == 0) {
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    return StartedProcess{pid, output[0]};
  }
  close(output[0]);
  if (pid < 0) return Status::error(std::string("cannot start a process: ") + std::strerror(error));
  waitpid(pid, nullptr, 0);
  return Status::error((failure.in_directory ? "workingDir " + plan.directory : "command " + arguments.front()) + ": " +
                       std::strerror(error));
}

std::string search_path_of(const ContainerPlan& plan) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string& variable : plan.env) {
    if (variable.starts_with(kName)) return variable.substr(kName.size());
  }
  return {};
}

}  // namespace

Result<StartedProcess> ProcessStarter::start(const ContainerPlan& plan) { return start_process(plan, plan.argv); }

// The program is looked for at each run: the container may make it.
Result<StartedProcess> ProcessStarter::exec(const ContainerPlan& plan, pid_t /*container*/,
                                            const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  arguments.front() = find_program(command.front(), search_path_of(plan), plan.directory);
  if (arguments.front().empty()) return Status::error("command '" + command.front() + "' not found");
  return start_process(plan, arguments);
}

}  // namespace berth
