#include "firmware-host/agent/oci/sandbox.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace berth {

namespace {

constexpr const char* kSharedMemory = "/shm";
constexpr std::size_t kMountOptionBytes = 4095;  // of a page, with its end

Status failed(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

Status make_directory(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return Status::ok();
  return failed("cannot make " + path);
}

// A new network namespace has one interface, which is down.
Status bring_loopback_up() {
  const int socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return failed("cannot open a socket");
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  bool is_done = ioctl(socket_, SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  is_done = is_done && ioctl(socket_, SIOCSIFFLAGS, &request) == 0;
  const Status status = is_done ? Status::ok() : failed("cannot bring the loopback interface up");
  close(socket_);
  return status;
}

// In a list of directories of a mount option.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ':' || c == ',' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

Status enter_sandbox(const SandboxOptions& options) {
  int kinds = CLONE_NEWNS;
  if (!options.host_network) kinds |= CLONE_NEWNET | CLONE_NEWUTS;
  if (!options.host_ipc) kinds |= CLONE_NEWIPC;
  if (unshare(kinds) != 0) return failed("cannot make the pod's namespaces");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return failed("cannot separate the pod's mounts");
  if (mount("sandbox", options.directory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=65536k") != 0) {
    return failed("cannot mount " + options.directory);
  }
  if (!options.host_network) {
    if (Status up = bring_loopback_up(); !up.is_success()) return up;
    if (!options.hostname.empty() && sethostname(options.hostname.data(), options.hostname.size()) != 0) {
      return failed("cannot set the host name " + options.hostname);
    }
  }
  if (options.host_ipc) return Status::ok();
  const std::string memory = options.directory + kSharedMemory;
  if (Status made = make_directory(memory, 0755); !made.is_success()) return made;
  // containerd, internal/cri/server/podsandbox: defaultShmSize
  if (mount("shm", memory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777,size=65536k") != 0) {
    return failed("cannot mount " + memory);
  }
  return Status::ok();
}

OciNamespaces namespaces_in_sandbox(const SandboxOptions& options, pid_t keeper) {
  const std::string base = "/proc/" + std::to_string(keeper) + "/ns/";
  OciNamespaces namespaces;
  namespaces.network = base + "net";
  namespaces.uts = base + "uts";
  namespaces.ipc = base + "ipc";
  if (options.host_network) {
    namespaces.network.reset();
    namespaces.uts.reset();
  }
  if (options.host_ipc) namespaces.ipc.reset();
  if (options.host_pid) namespaces.pid.reset();
  return namespaces;
}

OciMount shared_memory_of(const SandboxOptions& options) {
  return {options.host_ipc ? "/dev/shm" : options.directory + kSharedMemory, "/dev/shm"};
}

// One mount names all layers in one page: relative names are shorter.
Status mount_root(const std::vector<std::string>& layers, const std::string& directory) {
  if (layers.empty()) return Status::error("the image has no layers");
  for (const char* part : {"/upper", "/aside", "/root"}) {
    if (Status made = make_directory(directory + part, 0755); !made.is_success()) return made;
  }
  const std::string above = layers.front().substr(0, layers.front().rfind('/') + 1);
  const bool is_shared = std::all_of(layers.begin(), layers.end(), [&](const std::string& layer) {
    return layer.starts_with(above) && layer.rfind('/') + 1 == above.size();
  });
  std::string options = "lowerdir=";
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (!options.ends_with('=')) options += ':';
    options += escaped(is_shared ? layers[i].substr(above.size()) : layers[i]);
  }
  options += ",upperdir=" + escaped(directory + "/upper") + ",workdir=" + escaped(directory + "/aside");
  if (options.size() > kMountOptionBytes) {
    return Status::error("the image has " + std::to_string(layers.size()) +
                         " layers, more than one mount can name: build it with fewer");
  }
  const std::string root = directory + "/root";
  const int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  Status mounted = Status::ok();
  if (before < 0 || (is_shared && chdir(above.c_str()) != 0) ||
      mount("overlay", root.c_str(), "overlay", 0, options.c_str()) != 0) {
    mounted = failed("cannot mount the image's layers at " + root);
  }
  if (before >= 0 && fchdir(before) != 0 && mounted.is_success()) mounted = failed("cannot return from " + above);
  if (before >= 0) close(before);
  return mounted;
}

}  // namespace berth
