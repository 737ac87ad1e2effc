#include "firmware-host/agent/containers/oci_starter.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "core/stable_sort.h"
#include "firmware-host/agent/child_limits.h"
#include "firmware-host/agent/containers/oci_container_run.h"
#include "firmware-host/agent/oci/image_user.h"
#include "firmware-host/agent/oci/pod_files.h"
#include "firmware-host/agent/output_pipe.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/process_tree.h"
#include "firmware-host/agent/volumes/container_env.h"
#include "firmware-host/agent/volumes/volume_make.h"
#include "firmware-host/agent/volumes/volume_mounts.h"
#include "firmware-host/container_settings.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kContainers = "/containers";
constexpr const char* kRuntimeState = "runtime";
constexpr const char* kConfig = "config.json";
constexpr const char* kTerminationMessage = "message";
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr const char* kServersOfStub = "/run/systemd/resolve/resolv.conf";  // systemd-resolved.service(8)
constexpr int kMostDescriptors = 1024;                                      // of a keeper
constexpr std::size_t kUserFileBytes = 1 << 20;

Status failed(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

Status make_directories(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Status::error("cannot make " + path + ": " + error.message());
  return chmod(path.c_str(), mode) == 0 ? Status::ok() : failed("cannot make " + path);
}

Status write_text(const std::string& directory, const std::string& name, const std::string& text, mode_t mode) {
  const std::error_code error = replace_file(directory, name, text, false);
  if (error) return Status::error("cannot write " + directory + "/" + name + ": " + error.message());
  const std::string path = directory + "/" + name;
  return chmod(path.c_str(), mode) == 0 ? Status::ok() : failed("cannot write " + path);
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A file of an image, in which links may lead anywhere: they are followed as the container would, below its root.
// Empty: there is no such file, or it is no plain one.
std::string text_in_root(const std::string& root, const char* path) {
  const int top = open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return {};
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const int file = static_cast<int>(syscall(SYS_openat2, top, path, &how, sizeof how));
  close(top);
  if (file < 0) return {};
  struct stat found{};
  std::string text;
  if (fstat(file, &found) == 0 && S_ISREG(found.st_mode)) {
    std::array<char, 8192> part;
    for (ssize_t got = 0; text.size() < kUserFileBytes && (got = read(file, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(got));
    }
  }
  close(file);
  return text;
}

// While nobody waits: what a container has written may be a lot.
void delete_behind(const std::string& directory) {
  const pid_t child = fork();
  if (child != 0) return;
  // Not a keeper, by neither its name nor its tag.
  prctl(PR_SET_NAME, "berth-delete");
  for (int fd = 3; fd < static_cast<int>(sysconf(_SC_OPEN_MAX)) && fd < kMostDescriptors; ++fd) close(fd);
  std::error_code error;
  fs::remove_all(directory, error);
  _exit(0);
}

SandboxOptions options_of(const SandboxPlan& plan) {
  SandboxOptions options;
  options.directory = plan.directory + kSandboxDirectory;
  options.hostname = plan.hostname;
  options.host_network = plan.host_network;
  options.host_ipc = plan.host_ipc;
  options.host_pid = plan.host_pid;
  return options;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// The error's words are the kubelet's (pkg/kubelet/kuberuntime/security_context.go, verifyRunAsNonRoot).
Result<UserIds> user_of(const ContainerSetup& setup, const std::string& root) {
  const std::string passwd = text_in_root(root, "etc/passwd");
  const std::string group = text_in_root(root, "etc/group");
  Result<UserIds> user = find_user(setup.image.user, setup.security, {passwd, group});
  if (!user) return Status::pending(user.error().message());
  if (setup.security.must_not_be_root && user->user == 0) {
    return Status::pending("container has runAsNonRoot and image will run as root: set securityContext.runAsUser");
  }
  return user;
}

}  // namespace

OciStarter::OciStarter(const SandboxPlan& plan)
    : plan_(plan),
      sandbox_(options_of(plan)),
      cgroup_(plan.cgroup),
      network_(plan),
      objects_(plan.objects, plan.objects_file) {}

Status OciStarter::enter() {
  if (!is_inside_) {
    if (Status made = make_directories(sandbox_.directory, 0711); !made.is_success()) return made;
    if (Status entered = enter_sandbox(sandbox_); !entered.is_success()) return entered;
    is_inside_ = true;
  }
  // What containers wrote under an earlier keeper is nobody's any more: each run begins with its image.
  const std::string earlier = plan_.directory + kContainers;
  const std::string aside = earlier + "." + std::to_string(getpid());
  if (std::rename(earlier.c_str(), aside.c_str()) != 0 && errno != ENOENT) return failed("cannot move " + earlier);
  std::error_code error;
  for (fs::directory_iterator at(plan_.directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().string().starts_with(earlier + ".")) delete_behind(at->path().string());
  }
  cgroup_.remove();  // its counters are of earlier runs
  return cgroup_.make(plan_.limits);
}

// That of a machine may come later, or never where it has no network; one that is configured has to be there.
Result<std::string> OciStarter::machine_resolver() const {
  if (plan_.resolv_conf != ContainerSettings::kResolvConf && access(plan_.resolv_conf.c_str(), R_OK) != 0) {
    return failed("containers.resolv_conf: cannot read " + plan_.resolv_conf);
  }
  std::string text = text_of(plan_.resolv_conf);
  if (plan_.host_network || !is_resolver_stub(text)) return text;
  std::string servers = text_of(kServersOfStub);
  return servers.empty() ? text : servers;
}

// pkg/kubelet/kubelet_pods.go makeMounts: the same files for all containers.
Status OciStarter::write_files() {
  const std::vector<std::string>& own = network_.addresses();
  const Result<std::string> hosts = hosts_file(plan_.pod, text_of("/etc/hosts"), own.empty() ? "" : own.front());
  if (!hosts) return hosts.error();
  const Result<std::string> machine = machine_resolver();
  if (!machine) return machine.error();
  const Result<std::string> resolver = resolver_file(plan_.pod, *machine);
  if (!resolver) return resolver.error();
  for (const auto& [file_name, text] :
       {std::pair{"hosts", *hosts}, {"resolv.conf", *resolver}, {"hostname", host_name() + "\n"}}) {
    if (Status written = write_text(sandbox_.directory, file_name, text, 0644); !written.is_success()) return written;
  }
  return Status::ok();
}

Result<bool> OciStarter::make_ready() {
  if (has_entered_ && plan_.share_pids) {
    if (Status made = processes_.make(); !made.is_success()) return made;
  }
  if (has_files_) return true;
  if (!has_entered_) {
    if (Status entered = enter(); !entered.is_success()) return entered;
    has_entered_ = true;
    return make_ready();
  }
  Result<bool> made = network_.make();
  if (!made || !*made) return made;
  if (Status written = write_files(); !written.is_success()) return written;
  if (Status volumes = make_volumes(facts(), objects_, plan_.volumes); !volumes.is_success()) return volumes;
  has_files_ = true;
  return true;
}

// A network may give its pods no addresses at all.
std::string OciStarter::probe_host() const {
  const std::vector<std::string>& own = network_.addresses();
  return own.empty() ? ContainerStarter::probe_host() : own.front();
}

bool OciStarter::take_exit(pid_t child, int wait_status) {
  return processes_.take_exit(child) || network_.take_exit(child, wait_status);
}

Result<std::string> OciStarter::make_root(const ContainerPlan& plan) {
  if (const auto unused = unused_roots_.extract(plan.name)) return unused.mapped();
  const std::string above = plan_.directory + kContainers + "/" + plan.name;
  const std::string fresh = above + "/" + std::to_string(++runs_);
  std::error_code error;
  for (fs::directory_iterator at(above, error), end; !error && at != end; at.increment(error)) {
    umount2((at->path().string() + "/root").c_str(), MNT_DETACH);
    delete_behind(at->path().string());
  }
  if (Status made = make_directories(fresh, 0711); !made.is_success()) return made;
  if (Status mounted = mount_root(plan.setup->layers, fresh); !mounted.is_success()) return mounted;
  return fresh + "/root";
}

Result<OciContainer> OciStarter::container_of(const ContainerPlan& plan, const std::string& root) const {
  const ContainerSetup& setup = *plan.setup;
  const Security& security = setup.security;
  Result<UserIds> user = user_of(setup, root);
  if (!user) return user.error();
  OciContainer container;
  container.root = root;
  container.read_only_root = security.read_only_root;
  container.user = std::move(*user);
  if (Status added = add_process(plan, container); !added.is_success()) return added;
  container.capabilities = setup.capabilities;
  container.no_new_privileges = security.no_new_privileges;
  container.privileged = security.privileged;
  container.proc_unmasked = security.proc_unmasked;
  container.cgroup = plan_.cgroup + "/" + plan.name;
  container.namespaces = namespaces_in_sandbox(sandbox_, getpid());
  if (plan_.share_pids) container.namespaces.pid = processes_.path();
  container.own_cgroups = is_unified() && !security.privileged;
  container.seccomp = setup.seccomp;
  container.resources = setup.resources;
  container.oom_score_adj = std::max(setup.oom_score_adj, least_oom_score());
  container.sysctls = security.sysctls;
  if (!security.privileged) return container;
  Result<std::vector<OciDevice>> devices = devices_below("/dev");
  if (!devices) return devices.error();
  container.devices = std::move(*devices);
  return container;
}

// Apart from the sandbox's own files, whatever the container is called.
std::string OciStarter::bundle_of(const ContainerPlan& plan) const { return file("bundles/" + plan.name); }

PodFacts OciStarter::facts() const {
  return {plan_.pod, plan_.tag, plan_.node, addresses(), plan_.host_ips, plan_.allocatable};
}

// `command` replaces the image's entrypoint and arguments, `args` alone its arguments
// (pkg/kubelet/container/helpers.go, ExpandContainerCommandAndArgs).
Status OciStarter::add_process(const ContainerPlan& plan, OciContainer& container) const {
  const ContainerSetup& setup = *plan.setup;
  const Result<ContainerEnv> env = container_env(facts(), objects_, setup.container, setup.path);
  if (!env) return env.error();
  const Result<ContainerCommand> command = container_command(setup.container, env->variables, setup.path);
  if (!command) return command.error();
  const bool replaces_all = !command->command.empty();
  container.argv = replaces_all ? command->command : setup.image.entrypoint;
  const std::vector<std::string>& rest = replaces_all || !command->args.empty() ? command->args : setup.image.cmd;
  container.argv.insert(container.argv.end(), rest.begin(), rest.end());
  if (container.argv.empty()) {
    return Status::pending("neither the manifest nor image " + plan.image + " names a command: set command");
  }
  Variables all = {{"PATH", kDefaultPath}, {"HOME", container.user.home}, {"HOSTNAME", host_name()}};
  for (const std::string& variable : setup.image.env) {
    const std::size_t equals = variable.find('=');
    set_variable(all, variable.substr(0, equals), variable.substr(equals + 1));
  }
  for (const auto& [name, value] : env->variables) set_variable(all, name, value);
  for (const auto& [name, value] : all) container.env.push_back(name + "=" + value);
  container.directory = setup.container.string_at("workingDir");
  if (container.directory.empty()) container.directory = setup.image.working_dir;
  if (container.directory.empty()) container.directory = "/";
  return add_mounts(plan, env->variables, container);
}

// A mount of the manifest goes before one of the pod's own files at the same path.
Status OciStarter::add_mounts(const ContainerPlan& plan, const Variables& variables, OciContainer& container) const {
  const std::string subpaths = bundle_of(plan) + "/subpaths";
  if (Status made = make_directories(subpaths, 0711); !made.is_success()) return made;
  Result<std::vector<OciMount>> mounts = make_mounts(plan.setup->mounts, variables, subpaths);
  if (!mounts) return mounts.error();
  for (OciMount& each : *mounts) {
    each.destination = fs::path(each.destination).lexically_normal().string();
    if (each.destination.size() > 1 && each.destination.ends_with('/')) each.destination.pop_back();
  }
  const std::string message = bundle_of(plan) + "/" + kTerminationMessage;
  for (OciMount each : {OciMount{file("hosts"), "/etc/hosts"}, OciMount{file("hostname"), "/etc/hostname"},
                        OciMount{file("resolv.conf"), "/etc/resolv.conf"}, shared_memory_of(sandbox_),
                        OciMount{message, plan.setup->termination_message_path}}) {
    const bool is_covered = std::any_of(mounts->begin(), mounts->end(),
                                        [&](const OciMount& own) { return own.destination == each.destination; });
    if (!is_covered) container.mounts.push_back(std::move(each));
  }
  container.mounts.insert(container.mounts.end(), mounts->begin(), mounts->end());
  // As containerd: a mount in another one comes behind it.
  stable_sort(container.mounts, [](const OciMount& a, const OciMount& b) {
    return std::count(a.destination.begin(), a.destination.end(), '/') <
           std::count(b.destination.begin(), b.destination.end(), '/');
  });
  return Status::ok();
}

Result<StartedRun> OciStarter::start(const ContainerPlan& plan) {
  const std::string bundle = bundle_of(plan);
  if (Status made = make_directories(bundle, 0711); !made.is_success()) return made;
  const Result<std::string> root = make_root(plan);
  if (!root) return root.error();
  const Result<OciContainer> container = container_of(plan, *root);
  if (!container) {
    unused_roots_[plan.name] = *root;
    return container.error();
  }
  // The container's user may be any.
  if (Status made = write_text(bundle, kTerminationMessage, {}, 0666); !made.is_success()) return made;
  if (Status made = write_text(bundle, kConfig, oci_spec(*container).dump(), 0600); !made.is_success()) return made;
  OutputPipe output, errors;
  if (!output.open() || !errors.open()) return failed("pipe");
  const std::string id = plan_.id + "." + plan.name;
  auto run = std::make_unique<OciContainerRun>(OciRun::Place{plan_.runtime, file(kRuntimeState), bundle, id},
                                               output.writing(), errors.writing(), bundle + "/" + kTerminationMessage,
                                               [this, name = plan.name] { return cgroup_.out_of_memory(name) > 0; });
  if (Status begun = run->begin(); !begun.is_success()) return begun;
  return StartedRun{std::move(run), output.take_reading(), errors.take_reading(),
                    fs::path(plan_.runtime).filename().string() + "://" + id};
}

Result<StartedRun> OciStarter::exec(const ContainerPlan& plan, const std::vector<std::string>& command) {
  const std::string bundle = bundle_of(plan);
  const Result<Json> config = Json::parse(text_of(bundle + "/" + kConfig));
  const Json* process = config ? config->find("process") : nullptr;
  if (process == nullptr) return Status::error("container " + plan.name + " does not run");
  Json arguments = Json::array();
  for (const std::string& argument : command) arguments.push_back(argument);
  Json own = *process;
  own.set("args", std::move(arguments));
  OutputPipe output;
  if (!output.open()) return failed("pipe");
  Result<std::unique_ptr<ContainerRun>> run =
      OciExecRun::begin({plan_.runtime, file(kRuntimeState), bundle, plan_.id + "." + plan.name},
                        "exec." + std::to_string(++runs_), own.dump(), output.writing());
  if (!run) return run.error();
  return StartedRun{std::move(*run), output.take_reading(), -1};
}

// A program of the runtime that an earlier keeper had begun may be about to make a container.
Result<int> OciStarter::kill_all() {
  const Result<int> begun = kill_by_environment({"BERTH_TAG=" + plan_.tag_text});
  const Result<int> contained = cgroup_.kill();
  if (!begun || !contained) return begun ? contained : begun;
  return *begun + *contained;
}

// Its pid namespace has ended with its first process, and its control group is removed by the runtime; with the
// machine's processes some may be left.
Result<int> OciStarter::kill_rest(const ContainerPlan& plan) {
  return PodCgroup(plan_.cgroup + "/" + plan.name).kill();
}

// What cannot be shown now stays as it is: the next change shows all.
void OciStarter::take_objects() {
  objects_.reload();
  if (!has_files_) return;
  const Status updated = update_volumes(facts(), objects_, plan_.volumes);
  static_cast<void>(updated);
}

bool OciStarter::remove() {
  cgroup_.remove();
  return !has_entered_ || network_.remove();
}

}  // namespace berth
