#include "firmware-host/agent/containers/oci_container_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <utility>

#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/spawn.h"

namespace berth {

namespace {

constexpr Millis kPatienceMs = 5000;  // with a program of the runtime that is to remove a container
// pkg/kubelet/kuberuntime: MaxContainerTerminationMessageLength
constexpr std::size_t kTerminationMessageBytes = 4096;

constexpr const char* kProcessEnding = ".json";
constexpr const char* kPidEnding = ".pid";

}  // namespace

OciContainerRun::OciContainerRun(OciRun::Place place, int output, int errors, std::string termination_message,
                                 std::function<bool()> out_of_memory)
    : run_(std::move(place), output, errors),
      termination_message_(std::move(termination_message)),
      out_of_memory_(std::move(out_of_memory)) {}

bool OciContainerRun::take_exit(pid_t child, int wait_status) {
  if (run_.process() != 0 && child == run_.process()) is_out_of_memory_ = out_of_memory_();
  return run_.take_exit(child, wait_status);
}

// What is still being made has nobody who could listen.
void OciContainerRun::signal(int number) {
  if (run_.process() == 0) return kill();
  run_.signal(number);
}

// The end of its first process is that of all in its pid namespace.
void OciContainerRun::kill() {
  run_.signal(SIGKILL);
  if (run_.process() != 0 && run_.phase() < OciRun::Phase::removing) return;
  if (killed_at_ && clock_.now() < *killed_at_ + kPatienceMs) return;
  killed_at_ = clock_.now();
  run_.kill();
}

// The container has written it: neither a link nor a device is followed.
std::string OciContainerRun::termination_message() const {
  if (termination_message_.empty()) return {};
  const int fd = open(termination_message_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(kTerminationMessageBytes, '\0');
  const ssize_t got = read(fd, text.data(), text.size());
  close(fd);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

Result<std::unique_ptr<ContainerRun>> OciExecRun::begin(const OciRun::Place& place, const std::string& name,
                                                        const std::string& process, int output) {
  if (const std::error_code error = replace_file(place.bundle, name + kProcessEnding, process, false)) {
    return Status::error("cannot write " + place.bundle + "/" + name + kProcessEnding + ": " + error.message());
  }
  const std::string files = place.bundle + "/" + name;
  const Result<pid_t> program = spawn(place.program,
                                      {place.program, "--root", place.state, "exec", "--pid-file", files + kPidEnding,
                                       "--process", files + kProcessEnding, place.id},
                                      nullptr, {-1, output, output});
  if (program) return std::unique_ptr<ContainerRun>(new OciExecRun(*program, files));
  unlink((files + kProcessEnding).c_str());
  return program.error();
}

OciExecRun::~OciExecRun() {
  for (const char* ending : {kProcessEnding, kPidEnding}) unlink((files_ + ending).c_str());
}

bool OciExecRun::take_exit(pid_t child, int wait_status) {
  if (child != program_ || status_) return false;
  status_ = wait_status;
  return true;
}

pid_t OciExecRun::process() const {
  std::ifstream file(files_ + kPidEnding);
  pid_t process = 0;
  file >> process;
  return file ? process : 0;
}

void OciExecRun::signal(int number) {
  if (status_) return;
  if (const pid_t inner = process(); inner > 0) ::kill(inner, number);
}

// The runtime's program is not the command's parent in all runtimes, so its end would not be that of the command.
void OciExecRun::kill() {
  signal(SIGKILL);
  if (!status_) ::kill(program_, SIGKILL);
}

}  // namespace berth
