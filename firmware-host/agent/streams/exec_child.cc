#include "firmware-host/agent/streams/exec_child.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "firmware-host/agent/child_limits.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/processes/process_run.h"
#include "firmware-host/agent/spawn.h"
#include "firmware-host/processor_slices.h"

extern char** environ;

namespace berth {

namespace {

constexpr int kSearchesMax = 4;

// What the child needs, ready to be used: after vfork(2) nothing may be allocated.
struct ExecImage {
  std::vector<char*> programs;
  std::vector<char*> argv;
  std::vector<char*> env;  // empty: the agent's
  const char* directory = nullptr;
  int mounts = -1;
  const ProcessPlace* place = nullptr;
  bool is_workload = false;
  std::array<int, 3> files{-1, -1, -1};
  bool terminal = false;
  pid_t agent = getpid();
};

// In the memory of the agent, which waits.
[[noreturn]] void become_command(const ExecImage& image, volatile int& failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != image.agent) _exit(128);
  setsid();
  for (int file = 0; file < 3; ++file) dup2(image.files[static_cast<std::size_t>(file)], file);
  if (image.terminal) ioctl(0, TIOCSCTTY, 0);
  for (const int signal : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (image.is_workload) {
    reset_oom_score();
    give_up_resources();
  }
  take_usual_slices();
  // Libraries open files that stay open over exec: the agent's sockets are not for a command.
  const bool is_joined = image.place == nullptr || join_place(*image.place);
  const bool is_there = is_joined && (image.mounts < 0 || setns(image.mounts, CLONE_NEWNS) == 0) &&
                        (image.directory == nullptr || chdir(image.directory) == 0) &&
                        (image.place == nullptr || take_identity(image.place->identity)) && close_range(3, ~0U, 0) == 0;
  if (!is_there) {
    failure = errno;
    _exit(128);
  }
  // A change of user ends the first promise.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != image.agent) _exit(128);
  // Written only if nothing was executed: the agent takes it for the outcome.
  failure = execute_first(image.programs.data(), image.argv.data(), image.env.empty() ? environ : image.env.data());
  _exit(128);
}

// As start_process() of processes/process_run.cc: the child's half is in a function of its own.
[[gnu::noinline]] pid_t spawn_command(const ExecImage& image, volatile int& failure) {
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions): see there
  if (pid == 0) become_command(image, failure);
  return pid;
}

// The agent's ends do not block, the command's do.
struct ExecPipes {
  Descriptor child_input, child_output, child_errors;
  Descriptor input, output, errors;
};

Status no_pipe() { return Status::error(std::string("cannot make a pipe: ") + std::strerror(errno)); }

bool make_pipe(Descriptor& reading, Descriptor& writing, bool agent_reads) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  reading = Descriptor(ends[0]);
  writing = Descriptor(ends[1]);
  return fcntl(agent_reads ? ends[0] : ends[1], F_SETFL, O_NONBLOCK) == 0;
}

Status make_pipes(bool input, ExecPipes& pipes) {
  if (!make_pipe(pipes.output, pipes.child_output, true) || !make_pipe(pipes.errors, pipes.child_errors, true)) {
    return no_pipe();
  }
  if (input) return make_pipe(pipes.child_input, pipes.input, false) ? Status::ok() : no_pipe();
  pipes.child_input = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return pipes.child_input.get() >= 0 ? Status::ok() : no_pipe();
}

Status make_terminal(TerminalSize size, ExecPipes& pipes) {
  const auto failed = [] { return Status::error(std::string("cannot make a terminal: ") + std::strerror(errno)); };
  pipes.output = Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  const int master = pipes.output.get();
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return failed();
  std::array<char, 64> name{};
  if (ptsname_r(master, name.data(), name.size()) != 0) return failed();
  pipes.child_input = Descriptor(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (pipes.child_input.get() < 0) return failed();
  set_size(master, size);
  return Status::ok();
}

// 0: it cannot be read, or has exited.
pid_t session_of(const char* pid) {
  const std::string path = std::string("/proc/") + pid + "/stat";
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  if (file.get() < 0 || read(file.get(), text.data(), text.size() - 1) <= 0) return 0;
  const char* behind_name = std::strrchr(text.data(), ')');
  if (behind_name == nullptr || std::strlen(behind_name) < 4) return 0;
  const char state = behind_name[2];
  if (state == 'Z' || state == 'X') return 0;
  char* next = const_cast<char*>(behind_name + 3);
  long number = 0;
  for (int field = 0; field < 3; ++field) number = std::strtol(next, &next, 10);  // parent, group, session
  return static_cast<pid_t>(number);
}

int kill_once(pid_t leader) {
  int killed = 0;
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return 0;
  while (const dirent* entry = readdir(processes)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || session_of(entry->d_name) != leader) continue;
    killed += kill(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)), SIGKILL) == 0 ? 1 : 0;
  }
  closedir(processes);
  return killed;
}

}  // namespace

void set_size(int terminal, TerminalSize size) {
  if (size.rows <= 0 || size.columns <= 0) return;
  winsize window{};
  window.ws_row = static_cast<unsigned short>(size.rows);
  window.ws_col = static_cast<unsigned short>(size.columns);
  ioctl(terminal, TIOCSWINSZ, &window);
}

Result<ExecChild> start_exec(const ExecStart& start) {
  ExecPipes pipes;
  Status made = start.terminal ? make_terminal(start.size, pipes) : make_pipes(start.input, pipes);
  if (!made.is_success()) return made;
  ExecImage image;
  image.argv = to_pointers(start.arguments);
  image.programs =
      start.programs.empty() ? std::vector<char*>{image.argv.front(), nullptr} : to_pointers(start.programs);
  if (start.environment != nullptr) image.env = to_pointers(*start.environment);
  if (!start.directory.empty()) image.directory = start.directory.c_str();
  image.is_workload = start.is_workload;
  image.place = start.place;
  image.terminal = start.terminal;
  const int in = pipes.child_input.get();
  image.files = {in, start.terminal ? in : pipes.child_output.get(), start.terminal ? in : pipes.child_errors.get()};
  Descriptor mounts;
  if (start.mounts_of > 0) {
    mounts = Descriptor(open(("/proc/" + std::to_string(start.mounts_of) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
    if (mounts.get() < 0) return Status::error("the pod's mounts cannot be entered: it is ending");
    image.mounts = mounts.get();
  }
  volatile int failure = 0;
  const pid_t pid = spawn_command(image, failure);
  const int error = pid < 0 ? errno : failure;
  if (pid > 0 && error != 0) waitpid(pid, nullptr, 0);
  if (error != 0) return Status::error("cannot run " + start.arguments.front() + ": " + std::strerror(error));
  ExecChild child;
  child.pid = pid;
  child.pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (child.pidfd < 0) {
    kill_session(pid);
    waitpid(pid, nullptr, 0);
    return Status::error("cannot watch a process: too many files are open");
  }
  child.input = pipes.input.release();
  child.output = pipes.output.release();
  child.errors = pipes.errors.release();
  return child;
}

// What is forked while it looks is met by the next search; one that forks faster than that ends with its container.
void kill_session(pid_t leader) {
  if (leader <= 1) return;
  kill(leader, SIGKILL);
  for (int search = 0; search < kSearchesMax && kill_once(leader) > 0; ++search) continue;
}

}  // namespace berth
