#include "firmware-host/agent/cni/cni_run.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/spawn.h"

namespace berth {

namespace {

constexpr std::size_t kMostOutput = 64 * 1024;
constexpr const char* kInterface = "eth0";

std::string read_all(int file) {
  std::string text(kMostOutput, '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

// As long as an output may become: writing beyond that fails, so that no plugin fills the memory.
int file_of_most() {
  const int file = memfd_create("cni", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (ftruncate(file, kMostOutput) == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_GROW) == 0) return file;
  close(file);
  return -1;
}

// By which its keeper, which may die meanwhile, has its programs found; empty: it has none.
std::string own_tag() {
  const char* tag = std::getenv("BERTH_TAG");
  return tag != nullptr ? tag : "";
}

int file_with(const std::string& text) {
  const int file = memfd_create("cni", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || lseek(file, 0, SEEK_SET) != 0) {
    close(file);
    return -1;
  }
  return file;
}

}  // namespace

void CniRun::add() {
  left_ = network_.plugins.size();
  next();
}

void CniRun::remove(const Json& result) {
  removes_ = true;
  result_ = result;
  left_ = network_.plugins.size();
  next();
}

// The next plugin that can be executed; done when none is left.
void CniRun::next() {
  while (left_ > 0) {
    --left_;
    current_ = removes_ ? left_ : network_.plugins.size() - 1 - left_;
    const Status executed = execute(current_);
    if (executed.is_success()) return;
    note_error(executed.message());
  }
  is_done_ = true;
}

// The first error counts. When one comes while the network is made, what has been made is removed.
void CniRun::note_error(const std::string& why) {
  if (error_.empty()) error_ = why;
  if (removes_) return;
  removes_ = true;
  left_ = network_.plugins.size();
}

std::string CniRun::find_program(const std::string& type) const {
  for (const std::string& directory : directories_) {
    std::string path = directory + "/" + type;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

Status CniRun::execute(std::size_t plugin) {
  const std::string type = network_.plugins[plugin].string_at("type");
  const std::string program = find_program(type);
  std::string directories;
  for (const std::string& each : directories_) directories += (directories.empty() ? "" : ":") + each;
  if (program.empty()) return Status::error("network " + network_.name + ": no plugin " + type + " in " + directories);
  const std::vector<std::string> environment{std::string("CNI_COMMAND=") + (removes_ ? "DEL" : "ADD"),
                                             "CNI_CONTAINERID=" + pod_.id,
                                             "CNI_NETNS=" + pod_.network_namespace,
                                             std::string("CNI_IFNAME=") + kInterface,
                                             "CNI_PATH=" + directories,
                                             "CNI_ARGS=" + pod_.arguments,
                                             "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                                             "BERTH_TAG=" + own_tag()};
  const int input = file_with(input_of(network_, plugin, pod_.ports, result_));
  output_ = file_of_most();
  Result<pid_t> started = Status::error(std::string("no memory for its input: ") + std::strerror(errno));
  if (input >= 0 && output_ >= 0) started = spawn(program, {program}, &environment, {input, output_, -1});
  if (input >= 0) close(input);
  if (started) {
    process_ = *started;
    return Status::ok();
  }
  if (output_ >= 0) close(std::exchange(output_, -1));
  return Status::error("network " + network_.name + ": " + started.error().message());
}

bool CniRun::take_exit(pid_t process, int status) {
  if (process_ == 0 || process != process_) return false;
  process_ = 0;
  const std::string output = read_all(output_);
  close(std::exchange(output_, -1));
  take_output(output, WIFEXITED(status) && WEXITSTATUS(status) == 0);
  next();
  return true;
}

void CniRun::take_output(const std::string& output, bool succeeded) {
  const std::string plugin = "network " + network_.name + ": plugin " + network_.plugins[current_].string_at("type");
  const Result<Json> read = Json::parse(output);
  if (!succeeded) {
    const std::string why = read ? read->string_at("msg") : std::string();
    return note_error(plugin + " failed" + (why.empty() ? why : ": " + why));
  }
  if (removes_) return;
  // Section 5: only a plugin that does not need the result may leave it out, as those of version 0.3.0 and older do.
  if (output.empty()) return;
  if (!read || !read->is_object()) return note_error(plugin + " gave no result that can be read");
  result_ = *read;
}

void CniRun::kill() const {
  if (process_ > 0) ::kill(process_, SIGKILL);
}

std::vector<std::string> CniRun::addresses() const {
  std::vector<std::string> addresses;
  for (const Json& each : list_of(result_, "ips")) {
    const std::string address = each.string_at("address");
    if (!address.empty()) addresses.push_back(address.substr(0, address.find('/')));
  }
  return addresses;
}

}  // namespace berth
