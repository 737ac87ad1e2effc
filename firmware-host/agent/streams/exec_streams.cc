#include "firmware-host/agent/streams/exec_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/processes/process_run.h"
#include "firmware-host/agent/processes/sandboxed_starter.h"
#include "firmware-host/agent/streams/exec_source.h"

namespace berth {

namespace {

// The files of one command in the container's bundle (containers/oci_starter.h), which only the keeper's mount
// namespace has.
struct CommandFiles {
  std::string outside;  // their path for the agent, without an ending
  std::string inside;   // likewise, in the keeper's mounts
};

void remove_files(const CommandFiles& files) {
  for (const char* ending : {".json", ".pid"}) unlink((files.outside + ending).c_str());
}

// The runtime's program is not the command's parent in all runtimes, so its end would not be that of the command.
// False: the runtime has not said yet which process it is.
bool end_command(const CommandFiles& files) {
  std::ifstream file(files.outside + ".pid");
  pid_t command = 0;
  if (!(file >> command)) return false;
  kill_session(command);
  return true;
}

namespace fs = std::filesystem;

constexpr std::string_view kCommandFile = "stream.";

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Its number may be another process's by now: of the pod's only one that is in the pod's control group is killed.
void end_left_command(const std::string& pid_file, const std::string& group) {
  std::ifstream file(pid_file);
  pid_t command = 0;
  if (!(file >> command) || command <= 1) return;
  if (bytes_of("/proc/" + std::to_string(command) + "/cgroup").find(group) == std::string::npos) return;
  kill_session(command);
}

// Of one container, in its bundle.
void end_left_commands(const fs::path& bundle, const std::string& group) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator at(bundle, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(kCommandFile)) files.push_back(at->path().string());
  }
  for (const std::string& file : files) {
    if (file.ends_with(".pid")) end_left_command(file, group);
    unlink(file.c_str());
  }
}

// Null: there is none.
const ContainerPlan* plan_named(const Workload& workload, const std::string& name) {
  for (const auto* each : {&workload.containers, &workload.init_containers}) {
    for (const ContainerPlan& plan : *each) {
      if (plan.name == name) return &plan;
    }
  }
  return nullptr;
}

// What programs at a terminal expect, as containerd sets it.
constexpr const char* kTerm = "TERM=xterm";

bool has_term(const std::string& variable) { return variable.starts_with("TERM="); }

// The container's own process part, with another command.
Result<std::string> process_for(const std::string& config, const ExecQuery& query) {
  const Result<Json> read = Json::parse(config);
  const Json* process = read ? read->find("process") : nullptr;
  if (process == nullptr) return Status::error("the container does not run");
  Json own = *process;
  Json arguments = Json::array();
  for (const std::string& argument : query.command) arguments.push_back(argument);
  own.set("args", std::move(arguments));
  if (!query.terminal) return own.dump();
  Json env = Json::array();
  bool has = false;
  if (const Json* variables = process->find("env"); variables != nullptr && variables->is_array()) {
    for (const Json& each : variables->as_array()) {
      has = has || (each.is_string() && has_term(each.as_string()));
      env.push_back(each);
    }
  }
  if (!has) env.push_back(kTerm);
  own.set("env", std::move(env)).set("terminal", true);
  return own.dump();
}

}  // namespace

ExecStreams::ExecStreams(std::string pods, const PodPlanner& planner, SlotOf slot_of, asio::io_context& context)
    : pods_(std::move(pods)), planner_(planner), slot_of_(std::move(slot_of)), context_(context), ended_(context) {}

void ExecStreams::end_earlier() const {
  std::error_code error;
  for (fs::directory_iterator at(pods_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::optional<Tag> tag = tag_of_directory(name);
    std::error_code unknown;
    if (!tag || !fs::exists(at->path().string() + kSandboxDirectory, unknown)) continue;
    const Result<RunningPod> pod = find_running_pod(pods_, tag->uid, tag->uid);
    if (!pod || pod->tag != *tag) continue;
    const std::string bundles =
        "/proc/" + std::to_string(pod->keeper) + "/root" + pod->directory + kSandboxDirectory + "/bundles";
    std::error_code missing;
    for (fs::directory_iterator each(bundles, missing), last; !missing && each != last; each.increment(missing)) {
      end_left_commands(each->path(), name);
    }
  }
}

Result<Workload> ExecStreams::plan_of(const RunningPod& pod, const std::string& name) const {
  const Slot* slot = slot_of_(pod.tag.uid);
  if (slot == nullptr || slot->epoch != pod.tag.epoch) return Status::error("pod " + name + " does not run");
  return planner_.plan(pod.tag, slot->pod, slot->volumes);
}

Result<OpenedStream> ExecStreams::open(const ExecQuery& query, std::function<void()> ready) {
  Result<RunningPod> pod = find_running_pod(pods_, query.uid, query.pod);
  if (!pod) return pod.error();
  Result<std::string> container = pod->running_container(query.container, query.pod);
  if (!container) return container.error();
  const Result<Workload> workload = plan_of(*pod, query.pod);
  if (!workload) return workload.error();
  const ContainerPlan* plan = plan_named(*workload, *container);
  if (plan == nullptr) return Status::error("container " + *container + " is not in the manifest");
  const SandboxPlan* sandbox = workload->sandbox.get();
  Result<OpenedStream> opened = sandbox == nullptr ? open_as_process(*plan, query, std::move(ready))
                                : sandbox->of_processes
                                    ? open_in_sandbox(*sandbox, *pod, query, *container, std::move(ready))
                                    : open_in_container(*sandbox, *pod, query, *container, std::move(ready));
  if (!opened) return opened;
  opened->container = std::move(*container);
  opened->containers = pod->container_names();
  opened->takes_input = query.input;
  return opened;
}

Result<OpenedStream> ExecStreams::open_in_container(const SandboxPlan& sandbox, const RunningPod& pod,
                                                    const ExecQuery& query, const std::string& container,
                                                    std::function<void()> ready) {
  if (ended_.is_full()) return Status::error("too many commands are still being ended: try again later");
  const std::string inside = sandbox.directory + kSandboxDirectory;
  const std::string bundle = inside + "/bundles/" + container;
  const std::string as_keeper = "/proc/" + std::to_string(pod.keeper) + "/root";
  const Result<std::string> process = process_for(bytes_of(as_keeper + bundle + "/config.json"), query);
  if (!process) return process.error();
  // Another agent may have been here, with commands of its own.
  const std::string name = std::string(kCommandFile) + std::to_string(getpid()) + "." + std::to_string(++commands_);
  const CommandFiles files{as_keeper + bundle + "/" + name, bundle + "/" + name};
  if (const std::error_code error = replace_file(as_keeper + bundle, name + ".json", *process, false)) {
    return Status::error("cannot write the command: " + error.message());
  }
  ExecStart start{};
  start.arguments = {sandbox.runtime,
                     "--root",
                     inside + "/runtime",
                     "exec",
                     "--pid-file",
                     files.inside + ".pid",
                     "--process",
                     files.inside + ".json",
                     sandbox.id + "." + container};
  start.mounts_of = pod.keeper;
  start.input = query.input;
  start.terminal = query.terminal;
  start.size = query.size;
  const Result<ExecChild> child = start_exec(start);
  if (!child) {
    remove_files(files);
    return child.error();
  }
  // With the source.
  const auto removal = std::shared_ptr<const CommandFiles>(new CommandFiles(files), [](const CommandFiles* own) {
    remove_files(*own);
    delete own;
  });
  return OpenedStream{std::make_unique<ExecSource>(
      context_, *child, [removal] { return end_command(*removal); }, std::move(ready), ended_)};
}

// Where the container's own process is, and as who that is: the keeper tells it by a file in memory, and has its mounts
// as a descriptor.
Result<OpenedStream> ExecStreams::open_in_sandbox(const SandboxPlan& sandbox, const RunningPod& pod,
                                                  const ExecQuery& query, const std::string& container,
                                                  std::function<void()> ready) {
  const std::string keeper = "/proc/" + std::to_string(pod.keeper);
  const std::string directory = keeper + "/root" + sandbox.directory + kProcessSandboxDirectory;
  Result<RunRecord> record = parse_run_record(bytes_of(run_record_path(directory, container)));
  if (!record) return Status::error("container " + container + " does not run");
  const Descriptor mounts(
      ::open((keeper + "/fd/" + std::to_string(record->mounts)).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (inode_of(mounts.get()) != record->mounts_inode)
    return Status::error("the container's mounts cannot be entered: it is ending");
  Result<std::vector<Descriptor>> groups = PodCgroup(sandbox.cgroup + "/" + container).open_members();
  if (!groups) return groups.error();
  const ProcessPlace place{std::move(*groups), mounts.get(), record->identity};
  if (query.terminal && std::none_of(record->env.begin(), record->env.end(), has_term)) record->env.emplace_back(kTerm);
  ExecStart start{};
  start.arguments = query.command;
  start.programs = programs_for(query.command.front(), record->search_path());
  start.environment = &record->env;
  start.directory = record->directory;
  start.place = &place;
  return open_workload(std::move(start), query, std::move(ready));
}

Result<OpenedStream> ExecStreams::open_as_process(const ContainerPlan& plan, const ExecQuery& query,
                                                  std::function<void()> ready) {
  constexpr std::string_view kPath = "PATH=";
  std::vector<std::string> env = plan.env;
  std::string search_path;
  for (const std::string& variable : env) {
    if (variable.starts_with(kPath)) search_path = variable.substr(kPath.size());
  }
  if (query.terminal && std::none_of(env.begin(), env.end(), has_term)) env.emplace_back(kTerm);
  ExecStart start{};
  start.arguments = query.command;
  start.arguments.front() = find_program(query.command.front(), search_path, plan.directory);
  if (start.arguments.front().empty()) return Status::error("command '" + query.command.front() + "' not found");
  start.environment = &env;
  start.directory = plan.directory;
  return open_workload(std::move(start), query, std::move(ready));
}

Result<OpenedStream> ExecStreams::open_workload(ExecStart start, const ExecQuery& query, std::function<void()> ready) {
  start.is_workload = true;
  start.input = query.input;
  start.terminal = query.terminal;
  start.size = query.size;
  const Result<ExecChild> child = start_exec(start);
  if (!child) return child.error();
  return OpenedStream{std::make_unique<ExecSource>(context_, *child, [] { return true; }, std::move(ready), ended_)};
}

}  // namespace berth
