#include "firmware-host/agent/processes/sandboxed_starter.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/child_limits.h"
#include "firmware-host/agent/oci/image_user.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/process_tree.h"
#include "firmware-host/agent/processes/private_mounts.h"
#include "firmware-host/agent/processes/process_run.h"
#include "firmware-host/agent/volumes/container_env.h"
#include "firmware-host/agent/volumes/volume_make.h"
#include "firmware-host/agent/volumes/volume_mounts.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRunRecord = "run.json";

Status make_directory_of_mode(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Status::error("cannot make " + path + ": " + error.message());
  if (chmod(path.c_str(), mode) == 0) return Status::ok();
  return Status::error("cannot make " + path + ": " + std::strerror(errno));
}

std::string text_of_machine(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

SandboxOptions sandbox_of_processes(const SandboxPlan& plan) {
  SandboxOptions options;
  options.directory = plan.directory + kProcessSandboxDirectory;
  options.host_network = options.host_ipc = options.host_pid = true;
  return options;
}

Result<UserIds> user_on_machine(const Security& security) {
  const std::string passwd = text_of_machine("/etc/passwd");
  const std::string group = text_of_machine("/etc/group");
  Result<UserIds> user = find_user("", security, {passwd, group});
  if (!user) return Status::pending(user.error().message());
  // Root's files and sockets are open to its group, which an image's user has by default.
  if (user->user != 0 && user->group == 0 && !security.group) user->group = user->user;
  return user;
}

// A process of an earlier run, or of another pod, may have put a link there since it was planned.
Status still_leads_to(const std::string& destination) {
  std::error_code error;
  if (fs::weakly_canonical(destination, error) == destination && is_mountable(destination)) return Status::ok();
  return Status::error(".mountPath: " + destination + " is not where it was when the pod came, or no longer there");
}

// Trouble of the machine, which may pass, rather than of the container.
Status later(const Status& status) { return Status::pending(status.message()); }

// As a value that `env` does not expand.
std::string literal(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '$' ? std::string("$$") : std::string(1, c);
  return escaped;
}

}  // namespace

std::string run_record_path(const std::string& directory, const std::string& container) {
  return directory + "/" + container + "/" + kRunRecord;
}

SandboxedStarter::SandboxedStarter(const SandboxPlan& plan)
    : plan_(plan),
      sandbox_(sandbox_of_processes(plan)),
      cgroup_(plan.cgroup),
      objects_(plan.objects, plan.objects_file),
      tag_("BERTH_TAG=" + plan.tag_text) {}

PodFacts SandboxedStarter::facts() const {
  return {plan_.pod, plan_.tag, plan_.node, addresses(), plan_.host_ips, plan_.allocatable};
}

// Any user of the pod writes to its scratch directory; nobody else comes through the directories above it.
Status SandboxedStarter::enter() {
  if (!is_inside_) {
    if (Status made = make_directory_of_mode(sandbox_.directory, 0711); !made.is_success()) return made;
    if (Status made = make_directory_of_mode(plan_.directory + "/scratch", 01777); !made.is_success()) return made;
    if (Status entered = enter_sandbox(sandbox_); !entered.is_success()) return entered;
    is_inside_ = true;
  }
  cgroup_.remove();  // its counters are of earlier runs
  return cgroup_.make(plan_.limits);
}

Result<bool> SandboxedStarter::make_ready() {
  if (has_volumes_) return true;
  if (!has_entered_) {
    if (Status entered = enter(); !entered.is_success()) return entered;
    has_entered_ = true;
  }
  if (Status made = make_volumes(facts(), objects_, plan_.volumes); !made.is_success()) return made;
  has_volumes_ = true;
  return true;
}

// What cannot be shown now stays as it is: the next change shows all.
void SandboxedStarter::take_objects() {
  objects_.reload();
  if (!has_volumes_) return;
  const Status updated = update_volumes(facts(), objects_, plan_.volumes);
  static_cast<void>(updated);
}

// $(BERTH_VOLUME_...) works in the values of env too: our variables are there before those of the manifest.
Result<Variables> SandboxedStarter::environment(const ProcessSetup& setup, const UserIds& user) const {
  Json env = Json::array();
  for (const auto& [name, value] : setup.own) {
    env.push_back(Json::object().set("name", name).set("value", literal(value)));
  }
  for (const Json& each : list_of(setup.container, "env")) env.push_back(each);
  Json container = setup.container;
  container.set("env", std::move(env));
  const Result<ContainerEnv> read = container_env(facts(), objects_, container, setup.path);
  if (!read) return read.error();
  Variables variables = setup.defaults;
  if (user.user != 0) set_variable(variables, "HOME", user.home);
  for (const auto& [name, value] : read->variables) set_variable(variables, name, value);
  return variables;
}

Result<Descriptor> SandboxedStarter::make_mounts_of(const ContainerPlan& plan, const Variables& variables) const {
  const std::string own = sandbox_.directory + "/" + plan.name;
  if (Status made = make_directory_of_mode(own + "/subpaths", 0711); !made.is_success()) return made;
  Result<std::vector<OciMount>> made = make_mounts(plan.process->mounts, variables, own + "/subpaths");
  if (!made) return made.error();
  PrivateMounts mounts;
  mounts.read_only_root = plan.process->security.read_only_root;
  mounts.mounts = std::move(*made);
  mounts.kept = {plan_.directory + "/scratch"};
  for (const VolumeMountPlan& mount : plan.process->mounts) {
    if (Status same = still_leads_to(mount.destination); !same.is_success())
      return Status::error(mount.where + same.message());
  }
  return make_private_mounts(plan_.runtime, mounts);
}

Result<SandboxedStarter::Run> SandboxedStarter::make_run(const ContainerPlan& plan, const UserIds& user,
                                                         const Variables& variables) const {
  Result<Descriptor> mounts = make_mounts_of(plan, variables);
  if (!mounts) return mounts.error();
  Run run;
  run.mounts = std::move(*mounts);
  run.record.mounts = run.mounts.get();
  run.record.mounts_inode = inode_of(run.mounts.get());
  run.record.identity = {user, plan.process->capabilities, plan.process->security.no_new_privileges,
                         std::to_string(std::max(plan.process->oom_score_adj, least_oom_score()))};
  for (const auto& [name, value] : variables) run.record.env.push_back(name + "=" + value);
  run.record.directory = plan.directory;
  const std::string directory = sandbox_.directory + "/" + plan.name;
  if (const std::error_code error = replace_file(directory, kRunRecord, to_text(run.record), false)) {
    return Status::error("cannot write " + directory + "/" + kRunRecord + ": " + error.message());
  }
  return run;
}

Result<ProcessPlace> SandboxedStarter::place_of(const std::string& container) const {
  const Run& run = runs_.at(container);
  Result<std::vector<Descriptor>> groups = group_of(container).open_members();
  if (!groups) return groups.error();
  ProcessPlace place;
  place.groups = std::move(*groups);
  place.mounts = run.mounts.get();
  place.identity = run.record.identity;
  return place;
}

// `command` replaces the image's name, which is the program where there is none, `args` are added to either.
Result<StartedRun> SandboxedStarter::start(const ContainerPlan& plan) {
  const ProcessSetup& setup = *plan.process;
  const Result<UserIds> user = user_on_machine(setup.security);
  if (!user) return user.error();
  const Result<Variables> variables = environment(setup, *user);
  if (!variables) return variables.error();
  const Result<ContainerCommand> command = container_command(setup.container, *variables, setup.path);
  if (!command) return command.error();
  std::vector<std::string> arguments = command->command;
  if (arguments.empty()) arguments.push_back(plan.image);
  arguments.insert(arguments.end(), command->args.begin(), command->args.end());
  const PodCgroup group = group_of(plan.name);
  group.remove();  // its counters are of the run before
  if (Status made = group.make(setup.limits); !made.is_success()) return later(made);
  Result<Run> run = make_run(plan, *user, *variables);
  if (!run) return later(run.error());
  runs_.insert_or_assign(plan.name, std::move(*run));
  const Result<ProcessPlace> place = place_of(plan.name);
  if (!place) return later(place.error());
  const RunRecord& record = runs_.at(plan.name).record;
  return start_process({.programs = programs_for(arguments.front(), record.search_path()),
                        .arguments = arguments,
                        .env = record.env,
                        .directory = plan.directory,
                        .place = &*place,
                        .is_out_of_memory = [this, name = plan.name] { return cgroup_.out_of_memory(name) > 0; }});
}

Result<StartedRun> SandboxedStarter::exec(const ContainerPlan& plan, const std::vector<std::string>& command) {
  const auto run = runs_.find(plan.name);
  if (run == runs_.end()) return Status::error("container " + plan.name + " does not run");
  const Result<ProcessPlace> place = place_of(plan.name);
  if (!place) return place.error();
  const RunRecord& record = run->second.record;
  return start_process({.programs = programs_for(command.front(), record.search_path()),
                        .arguments = command,
                        .env = record.env,
                        .directory = record.directory,
                        .has_errors = false,
                        .place = &*place,
                        .is_out_of_memory = {}});
}

// What its /tmp holds of the pod's memory goes with the mounts.
Result<int> SandboxedStarter::kill_rest(const ContainerPlan& plan) {
  const Result<int> killed = group_of(plan.name).kill();
  if (killed && *killed == 0) {
    runs_.erase(plan.name);
    unlink(run_record_path(sandbox_.directory, plan.name).c_str());
  }
  return killed;
}

Result<int> SandboxedStarter::kill_pod() { return cgroup_.kill(); }

// What is on its way into its control group is found by its environment.
Result<int> SandboxedStarter::kill_all() {
  const Result<int> grouped = cgroup_.kill();
  const Result<int> descendants = kill_descendants();
  const Result<int> tagged = kill_by_environment({tag_});
  for (const Result<int>* each : {&grouped, &descendants, &tagged}) {
    if (!*each) return *each;
  }
  return *grouped + *descendants + *tagged;
}

bool SandboxedStarter::remove() {
  cgroup_.remove();
  return true;
}

}  // namespace berth
