#include "firmware-host/agent/app.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/agent/agent.h"
#include "core/agent/records.h"
#include "core/api/features.h"
#include "core/hash.h"
#include "core/streams/stream_server.h"
#include "firmware-host/agent/containers/container_machine.h"
#include "firmware-host/agent/containers/image_collector.h"
#include "firmware-host/agent/containers/image_report.h"
#include "firmware-host/agent/containers/keeper_objects.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/containers/pulling_runtime.h"
#include "firmware-host/agent/containers/runtime_version.h"
#include "firmware-host/agent/device_certificate.h"
#include "firmware-host/agent/eviction/eviction_manager.h"
#include "firmware-host/agent/eviction/pod_memory.h"
#include "firmware-host/agent/eviction/storage_watch.h"
#include "firmware-host/agent/exit_codes.h"
#include "firmware-host/agent/keeper_runtime.h"
#include "firmware-host/agent/keeper_runtime_evict.h"
#include "firmware-host/agent/log_budget.h"
#include "firmware-host/agent/node_allocatable.h"
#include "firmware-host/agent/output_files.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/pool_files.h"
#include "firmware-host/agent/processes/process_machine.h"
#include "firmware-host/agent/sealed_secrets.h"
#include "firmware-host/agent/secret_files.h"
#include "firmware-host/agent/settings.h"
#include "firmware-host/agent/streams/device_streams.h"
#include "firmware-host/agent/streams/exec_streams.h"
#include "firmware-host/agent/streams/forward_streams.h"
#include "firmware-host/agent/streams/load_streams.h"
#include "firmware-host/agent/streams/log_streams.h"
#include "firmware-host/agent/streams/usage_streams.h"
#include "firmware-host/agent/workload.h"
#include "firmware-host/broker_connection.h"
#include "firmware-host/limited_log.h"
#include "firmware-host/logging.h"
#include "firmware-host/loop.h"
#include "firmware-host/program.h"
#include "firmware-host/real_clock.h"
#include "firmware-host/service_manager.h"
#include "firmware-host/start_pages.h"
#include "firmware-host/state_directory.h"
#include "firmware-host/time_file.h"
#include "firmware-host/true_random.h"
#include "storage/mark_file.h"
#include "storage/paths.h"
#include "storage/sqlite_store.h"
#include "transports/mqtt.h"
#include "transports/tls_context.h"

namespace berth {

namespace {

// Messages of streams go to their server, all others to the agent.
class Dispatch final : public Transport::Handler {
 public:
  Dispatch(Agent& agent, StreamServer& streams) : agent_(agent), streams_(streams) {}
  void on_message(const Message& message) override {
    if (!streams_.on_message(message)) agent_.on_message(message);
  }
  void on_link(bool up) override {
    agent_.on_link(up);
    streams_.on_link(up);
  }

 private:
  Agent& agent_;
  StreamServer& streams_;
};

class AgentApp {
 public:
  explicit AgentApp(AgentSettings settings)
      : settings_(std::move(settings)), lines_(settings_.log_level, settings_.log_format), loop_(clock_, timers_) {}

  int run() {
    for (const auto step :
         {&AgentApp::open_state, &AgentApp::open_store, &AgentApp::open_runtime, &AgentApp::connect}) {
      if (const int code = (this->*step)(); code != kExitOk) return code;
    }
    loop_.set_end_turn([this] { return end_turn(); });
    loop_.set_on_signal([this](int signal) { on_signal(signal); });
    service_.ready("running the pods of node " + settings_.agent.node);
    const Status ended = loop_.run();
    if (ended.is_success()) return kExitOk;
    if (!agent_->is_lost()) return store_failed(ended);
    return fail(kExitStore, "exiting; the next start stops everything and begins as a new device", ended);
  }

 private:
  int fail(int code, const std::string& event, const Status& status) {
    log_.write(Level::error, event, {{"error", status.message()}});
    return code;
  }

  int store_failed(const Status& status) {
    return fail(kExitStore, "the store failed, its contents are unknown; exiting, restart the agent", status);
  }

  int open_state() {
    Result<StateDirectory> state = StateDirectory::open(settings_.state_directory);
    if (!state) {
      const bool occupied = state.error().code() == Code::unschedulable;
      return fail(occupied ? kExitOccupied : kExitMachine, "cannot start", state.error());
    }
    state_.emplace(std::move(*state));
    const Result<std::string> boot = boot_id();
    const Result<std::string> machine = read_if_any(kMachineIdFile);
    const Result<std::string> serial = read_if_any(kHardwareSerialFile);
    for (const auto* each : {&boot, &machine, &serial}) {
      if (!*each) return fail(kExitMachine, "cannot start", each->error());
    }
    settings_.agent.boot_id = *boot;
    settings_.agent.machine_id = *machine;
    settings_.agent.hardware_serial = *serial;
    return kExitOk;
  }

  // A damaged store is set aside and replaced by a new one: the agent then stops all workloads it finds (N0), and its
  // new incarnation tells the gateway that its state is lost.
  int open_store() {
    const std::string path = state_->file("agent.db");
    for (int attempt = 0; attempt < 2; ++attempt) {
      auto store = SqliteStore::open(path, log_);
      Status damage = Status::ok();
      if (!store && store.error().kind != OpenError::Kind::corrupt) {
        return fail(kExitMachine, "cannot open the store", Status::error(store.error().message));
      }
      if (!store) damage = Status::error(store.error().message);
      if (store) damage = check_records(**store);
      if (store && damage.is_success() && !(*store)->lost_commits().empty()) {
        damage = Status::error("store " + path + ": " + (*store)->lost_commits());
      }
      if (store && (*store)->has_failed()) return store_failed(damage);
      if (store) store->reset();
      if (damage.is_success()) break;
      const Result<std::string> aside = set_aside(path, clock_.wall());
      if (!aside) return fail(kExitMachine, "cannot set the damaged store aside", aside.error());
      log_.write(Level::error, "damaged store set aside; stopping all workloads found",
                 {{"error", damage.message()}, {"kept", *aside}});
      if (const Status begun = begin_replacement(path); !begun.is_success()) return store_failed(begun);
    }
    auto store = SqliteStore::open(path, log_);
    if (!store) return fail(kExitMachine, "cannot open the store", Status::error(store.error().message));
    store_ = std::move(*store);
    marks_.emplace(state_->file("agent.mark"), log_);
    settings_.agent.marks = &*marks_;
    return kExitOk;
  }

  // A store is read once, before anything is written, and the agent has yet to read this one.
  Status begin_replacement(const std::string& path) {
    auto store = SqliteStore::open(path, log_);
    if (!store) return Status::error(store.error().message);
    const Result<std::vector<Record>> nothing = (*store)->load();
    return nothing ? note_damage(**store, settings_.agent.boot_id) : nothing.error();
  }

  static Status check_records(SqliteStore& store) {
    const Result<std::vector<Record>> records = store.load();
    if (!records) return records.error();
    const Result<AgentRecords> decoded = decode_records(*records);
    return decoded ? Status::ok() : decoded.error();
  }

  // The disk is measured once the state directory is there.
  void reserve() {
    ResourceList measured = default_settings().agent.capacity;
    if (const auto bytes = file_system_bytes(settings_.state_directory)) {
      measured["ephemeral-storage"] = Quantity(*bytes);
      settings_.agent.capacity.try_emplace("ephemeral-storage", *bytes);
    }
    total_ = settings_.agent.capacity;
    settings_.agent.capacity = allocatable_of(total_, measured, settings_.reserved, settings_.eviction.hard);
  }

  // Above what all pods may have together (pkg/kubelet/cm, enforceNodeAllocatableCgroups: without the threshold, so
  // that pods are ended in order before the kernel has to). The group outlives the agent, and so would a limit that is
  // configured no more.
  void limit_all_pods() {
    const PodCgroup all(cgroup_of_node(settings_.agent.fleet, settings_.agent.node));
    if (!settings_.reserved.contains("memory")) {
      const Status lifted = all.lift_memory_limit();
      if (!lifted.is_success()) {
        log_.write(Level::warn, "memory that is reserved no more stays so until the next boot",
                   {{"error", lifted.message()}});
      }
      return;
    }
    const ResourceList most = allocatable_of(total_, {}, settings_.reserved, {});
    PodLimits limits{cpu_shares(most.at("cpu").milli_value()), std::nullopt, most.at("memory").value()};
    const Status made = all.make(limits);
    if (!made.is_success()) log_.write(Level::warn, "reserved memory is not enforced", {{"error", made.message()}});
  }

  int open_runtime() {
    reserve();
    KeeperRuntimeConfig config;
    config.fleet = settings_.agent.fleet;
    config.node = settings_.agent.node;
    config.root = state_->file("pods");
    config.logs = settings_.logs;
    // As a kubelet does (pkg/kubelet/kubelet_node_status.go initialNode); manifests select by them.
    settings_.agent.labels.try_emplace("kubernetes.io/os", "linux");
    settings_.agent.labels.try_emplace("kubernetes.io/arch", platform_of_machine().architecture);
    settings_.agent.features.emplace();
    add_process_features(process_features());
    settings_.agent.streams = DeviceStreams::names();
    for (const LocalVolume& volume : settings_.agent.volumes) {
      if (volume.mount_point) config.mount_points.push_back(volume.path);
    }
    const std::vector<std::string>& roots = settings_.pool_mount_points;
    config.mount_points.insert(config.mount_points.end(), roots.begin(), roots.end());
    runtime_ = std::make_unique<KeeperRuntime>(std::move(config), loop_.context(), clock_, timers_, log_);
    object_files_.emplace(secret_directory() + ".pods", log_);
    keeper_objects_.emplace(*object_files_);
    runtime_->planner().set_objects(*keeper_objects_);
    open_curl();
    open_processes();
    if (const Status opened = open_containers(); !opened.is_success()) {
      return fail(kExitMachine, "cannot start", opened);
    }
    open_logs();
    settings_.agent.output = &*output_;
    if (const Status opened = open_secrets(); !opened.is_success()) {
      return fail(kExitMachine, "cannot start", opened);
    }
    settings_.agent.pool_directories = &pools_;
    storage_.emplace(
        StorageWatch::World{[this](const StorageWatch::Visit& visit) { runtime_->evictions().for_each_running(visit); },
                            [this](const Tag& tag, const std::string& why) { static_cast<void>(evict(tag, {why})); }},
        clock_, timers_);
    storage_->begin();
    open_evictions();
    for (const Status& opened :
         {runtime_->open(), output_->open(), pools_.open(settings_.agent.volume_pools, settings_.pool_quotas, roots)}) {
      if (!opened.is_success()) return fail(kExitMachine, "cannot start", opened);
    }
    return kExitOk;
  }

  void open_logs() {
    const DeviceLogLimits& limits = settings_.device_logs;
    output_.emplace(state_->file("output"), state_->file("pods"),
                    OutputFiles::Limits{static_cast<std::size_t>(limits.kept_pods), limits.kept_bytes}, log_);
    if (limits.total_bytes == 0) return;
    log_budget_.emplace(
        LogBudget::Places{state_->file("pods"), state_->file("output")}, limits.total_bytes,
        [this](const Tag& tag) { return runtime_->evictions().has_ended(tag); }, clock_, timers_, log_);
    log_budget_->begin();
  }

  // What cannot be recorded now is decided again with the next look.
  Status evict(const Tag& tag, const Eviction& eviction) {
    Status evicted = runtime_->evictions().evict(tag, eviction);
    if (evicted.is_success()) return evicted;
    log_.write(Level::error, "cannot evict a pod",
               {{"uid", tag.uid}, {"why", eviction.message}, {"error", evicted.message()}});
    return evicted;
  }

  void open_evictions() {
    EvictionManager::World world;
    world.observe = [this] {
      return observe_node(settings_.state_directory, settings_.eviction.uses(EvictionSignal::pid_available));
    };
    world.for_each_running = [this](const StorageWatch::Visit& visit) {
      runtime_->evictions().for_each_running(visit);
    };
    world.measure = [this](PodUse& pod, EvictionSignal signal) {
      const std::string group = cgroup_of_node(settings_.agent.fleet, settings_.agent.node);
      measure_pod(pod, signal, group + "/" + directory_name(pod.tag), runtime_->planner().text_of(pod.tag));
    };
    world.evict = [this](const Tag& tag, const Eviction& eviction) { return evict(tag, eviction); };
    world.is_evicting = [this] { return runtime_->evictions().is_any(); };
    world.is_removing = [this] { return runtime_->evictions().is_removing(); };
    world.remove_unneeded = [this] {
      runtime_->evictions().remove_files_of_finished();
      if (collector_) collector_->remove_unused();
    };
    world.tell = [this](std::vector<NodePressure> pressures) { tell(std::move(pressures)); };
    evictions_.emplace(std::move(world), settings_.eviction, *storage_, clock_, timers_);
    runtime_->evictions().set_gate([this](const std::string& pod) { return evictions_->admit(pod); });
  }

  void tell(std::vector<NodePressure> pressures) {
    std::string types;
    for (const NodePressure& each : pressures) types += (types.empty() ? "" : " ") + each.type;
    log_.write(Level::warn, "what this node is short of has changed", {{"conditions", types}});
    const bool disk_is_short =
        std::ranges::any_of(pressures, [](const auto& each) { return each.type == kDiskPressure; });
    if (containers_) containers_->set_disk_pressure(disk_is_short);
    agent_->set_pressures(std::move(pressures));
  }

  // Without bubblewrap, pods without images run as bare processes.
  void open_processes() {
    const char* path = std::getenv("PATH");
    Result<ProcessMachine> machine = find_process_machine(settings_.containers.bwrap, path != nullptr ? path : "");
    if (!machine) {
      log_.write(Level::info, "runs processes without a sandbox", {{"why", machine.error().message()}});
      return;
    }
    log_.write(Level::info, "runs processes in a sandbox", {{"program", machine->bwrap}});
    add_process_features(sandboxed_process_features());
    add_features({feature_of(runtime_version(machine->bwrap))});
    machine->pids_limit = settings_.containers.pids_limit;
    machine->allocatable = settings_.agent.capacity;
    if (machine->memory.is_limitable) limit_all_pods();
    runtime_->planner().set_processes(std::move(*machine));
  }

  // Checks over TLS are curl's, of whatever runs.
  void open_curl() {
    const char* path = std::getenv("PATH");
    std::string curl = find_program(settings_.containers.curl, path != nullptr ? path : "", "/");
    if (curl.empty()) return;
    add_process_features({"httpsHandlers"});
    runtime_->planner().set_curl(std::move(curl));
  }

  // Also by their plain names, by which earlier gateways ask.
  void add_process_features(const std::vector<std::string>& names) {
    add_features(names);
    std::vector<std::string> own;
    for (const std::string& name : names) own.push_back(of_processes(name));
    add_features(own);
  }

  void add_features(const std::vector<std::string>& more) {
    std::vector<std::string>& features = *settings_.agent.features;
    features.insert(features.end(), more.begin(), more.end());
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
  }

  // Without what containers need, pods with images are refused.
  Status open_containers() {
    const char* path = std::getenv("PATH");
    Result<ContainerMachine> machine = find_container_machine(settings_.containers, path != nullptr ? path : "");
    if (!machine) {
      const bool is_wanted = settings_.containers.runtime != ContainerSettings::kAutomatic &&
                             settings_.containers.runtime != ContainerSettings::kNone;
      if (is_wanted) return Status::error("containers: " + machine.error().message());
      log_.write(Level::info, "runs no containers", {{"why", machine.error().message()}});
      return Status::ok();
    }
    ImageStore::Options options;
    options.root = state_->file("images");
    options.source = source_options_of(*machine);
    options.bytes_per_day = settings_.containers.image_bytes_per_day;
    const EvictionThresholds& hard = settings_.eviction.hard;
    const auto threshold = hard.find(EvictionSignal::nodefs_available);
    const std::optional<std::int64_t> disk = file_system_bytes(settings_.state_directory);
    if (threshold != hard.end() && disk) options.limits.kept_free = threshold->second.of(*disk);
    auto store = ImageStore::open(loop_.context(), clock_, std::move(options));
    if (!store) return store.error();
    log_.write(Level::info, "runs containers", {{"runtime", machine->runtime}, {"curl", machine->curl}});
    add_features(container_features());
    const RuntimeVersion version = runtime_version(machine->runtime);
    add_features({feature_of(version)});
    settings_.agent.container_runtime_version = container_runtime_version(version);
    containers_ =
        std::make_unique<PullingRuntime>(*runtime_, runtime_->planner(), std::move(*store), clock_, timers_, log_);
    collector_.emplace(
        containers_->images(),
        ImageCollector::Marks{settings_.containers.image_high_percent, settings_.containers.image_low_percent},
        [directory = state_->file("images")] { return used_percent_of(directory); }, clock_, timers_, log_);
    collector_->look();
    containers_->images().set_on_no_space([this] { collector_->make_space(); });
    image_report_.emplace(containers_->images(), clock_, timers_);
    settings_.agent.images = &*image_report_;
    machine->allocatable = settings_.agent.capacity;
    if (machine->limits_memory) limit_all_pods();
    runtime_->planner().set_containers(std::move(*machine), *containers_);
    return Status::ok();
  }

  // What was sealed while it was configured does not stay behind.
  Status open_secrets() {
    secrets_.emplace(secret_directory(), log_);
    const std::string sealed = state_->file("sealed-secrets");
    if (settings_.seals_secrets) {
      sealed_secrets_.emplace(*secrets_, sealed, loop_.context(), log_);
      settings_.agent.volatile_store = &*sealed_secrets_;
      return Status::ok();
    }
    settings_.agent.volatile_store = &*secrets_;
    std::error_code error;
    std::filesystem::remove_all(sealed, error);
    return error ? Status::error("cannot remove " + sealed + ": " + error.message()) : Status::ok();
  }

  // Of its own for each state directory: a machine may have several agents.
  std::string secret_directory() const {
    return settings_.secret_directory + "/" + std::to_string(hash_of(settings_.state_directory));
  }

  Runtime& runtime() { return containers_ ? static_cast<Runtime&>(*containers_) : *runtime_; }

  // A broken one is reported with each attempt to connect.
  void open_certificate(BrokerSettings& broker, MqttOptions& options) {
    if (broker.cert_file.empty() || broker.ca_file.empty()) return;
    certificate_.emplace(
        DeviceCertificate::Files{broker.cert_file, broker.key_file, broker.ca_file, settings_.state_directory,
                                 settings_.agent.node},
        [this] { return time_floor_ ? std::max(clock_.wall(), time_floor_->floor()) : clock_.wall(); }, log_);
    settings_.agent.certificates = &*certificate_;
    broker.cert_file = options.tls.cert = certificate_->pair().cert;
    broker.key_file = options.tls.key = certificate_->pair().key;
    options.tls.on_refused = [this] {
      if (certificate_->note_refused()) use_certificate();
    };
  }

  void use_certificate() {
    const DeviceCertificate::Pair pair = certificate_->pair();
    transport_->set_client_certificate(pair.cert, pair.key);
  }

  void judge_certificates(const BrokerSettings& broker, MqttOptions& options) {
    if (broker.ca_file.empty()) return;
    time_file_.emplace(state_->file("time"), log_);
    time_floor_.emplace(build_day(), *time_file_, clock_, timers_);
    learn_from(broker, *time_floor_, clock_, log_);
    options.tls.time_floor = [this] { return time_floor_->floor(); };
    settings_.agent.time_floor = &*time_floor_;
  }

  void open_streams() {
    log_streams_.emplace(state_->file("pods"), state_->file("output"), loop_.context(), clock_, timers_);
    exec_streams_.emplace(
        state_->file("pods"), runtime_->planner(),
        [this](const std::string& uid) {
          const auto slot = agent_->state().slots.find(uid);
          return slot == agent_->state().slots.end() ? nullptr : &slot->second;
        },
        loop_.context());
    exec_streams_->end_earlier();
    forward_streams_.emplace(state_->file("pods"), loop_.context());
    usage_streams_.emplace(
        cgroup_of_node(settings_.agent.fleet, settings_.agent.node), runtime_->planner(),
        [this]() -> const std::map<std::string, Slot>& { return agent_->state().slots; }, clock_, timers_);
    load_streams_.emplace(containers_ ? &containers_->images() : nullptr, settings_.containers.image_high_percent,
                          loop_.context());
    device_streams_.emplace(*log_streams_, *exec_streams_, *forward_streams_, *load_streams_, *usage_streams_);
  }

  int connect() {
    BrokerSettings broker = settings_.broker;
    warn_of_plaintext(broker, log_);
    Result<MqttOptions> options = mqtt_options(broker, "berth-" + settings_.agent.fleet + "-" + settings_.agent.node);
    if (!options) return fail(kExitUsage, "cannot start", options.error());
    options->gather_acks = true;
    open_certificate(broker, *options);
    judge_certificates(broker, *options);
    transport_ = std::make_unique<MqttTransport>(loop_.context(), log_, std::move(*options));
    agent_ =
        std::make_unique<Agent>(settings_.agent, clock_, *transport_, *store_, runtime(), timers_, log_, true_random());
    open_streams();
    streams_.emplace(settings_.agent.fleet, settings_.agent.node, clock_, *transport_, timers_, *device_streams_, log_);
    dispatch_.emplace(*agent_, *streams_);
    transport_->set_handler(&*dispatch_);
    if (const Status started = agent_->start(); !started.is_success()) {
      if (store_->has_failed()) return store_failed(started);
      return fail(kExitMachine, "cannot tell what runs here; exiting, restart the agent", started);
    }
    log_.write(Level::info, "agent started",
               {{"node", settings_.agent.node},
                {"fleet", settings_.agent.fleet},
                {"broker", broker.host + ":" + std::to_string(broker.port)},
                {"state", settings_.state_directory},
                {"slots", std::to_string(agent_->state().slots.size())}});
    evictions_->look();
    timers_.at(clock_.now() + kStartMs, [] { give_back_start_pages(); });
    connect_once_named();
    return kExitOk;
  }

  // While the sweep of a new store lasts, there is no incarnation that presence and will could name.
  void connect_once_named() {
    if (is_connecting_ || agent_->state().incarnation.empty()) return;
    is_connecting_ = true;
    transport_->set_will(agent_->will());
    transport_->start();
  }

  // With the new certificate. Pods do not notice.
  Status connect_again() {
    use_certificate();
    transport_->disconnect();
    Status finished = agent_->finish_turn();
    transport_->start();
    return finished;
  }

  // Sets the will of the next session, whose number is durable by now.
  Status end_turn() {
    Status finished = agent_->finish_turn();
    if (finished.is_success() && certificate_ && certificate_->take_renewed()) finished = connect_again();
    if (!finished.is_success()) return finished;
    streams_->end_turn();  // behind all that the handshake has to say
    if (certificate_ && transport_->is_up()) certificate_->note_accepted();
    service_.turn_ended();
    if (!transport_->is_up()) transport_->set_will(agent_->will());
    connect_once_named();
    if (ending_) {
      if (time_floor_) time_floor_->save();
      transport_->disconnect();
      loop_.stop();
    }
    return finished;
  }

  void on_signal(int signal) {
    const auto& slots = agent_->state().slots;
    const auto running = std::count_if(slots.begin(), slots.end(),
                                       [](const auto& entry) { return entry.second.state == SlotState::running; });
    log_.write(Level::info, "stopping; workloads keep running",
               {{"signal", std::to_string(signal)}, {"running", std::to_string(running)}});
    service_.stopping();
    agent_->say_goodbye();
    ending_ = true;
  }

  AgentSettings settings_;
  ResourceList total_;  // of the node, of which pods may have agent.capacity
  RealClock clock_;
  Timers timers_;
  SpdLog lines_;
  LimitedLog log_{lines_, clock_};
  EventLoop loop_;
  ServiceManager service_{clock_, timers_};
  std::optional<StateDirectory> state_;
  std::unique_ptr<SqliteStore> store_;
  std::optional<MarkFile> marks_;
  std::unique_ptr<KeeperRuntime> runtime_;
  std::optional<StorageWatch> storage_;
  std::optional<EvictionManager> evictions_;
  std::optional<OutputFiles> output_;
  std::optional<LogBudget> log_budget_;  // none: there is no limit
  std::optional<SecretFiles> secrets_;
  std::optional<SealedSecrets> sealed_secrets_;
  std::optional<SecretFiles> object_files_;  // later ConfigMaps and Secrets of pods
  std::optional<KeeperObjects> keeper_objects_;
  std::unique_ptr<PullingRuntime> containers_;  // null: there are none
  std::optional<ImageCollector> collector_;     // of its images
  std::optional<ImageReport> image_report_;     // likewise
  KernelQuotas quotas_;
  PoolFiles pools_{quotas_, log_};
  std::optional<TimeFile> time_file_;    // with TLS
  std::optional<TimeFloor> time_floor_;  // likewise
  std::optional<DeviceCertificate> certificate_;
  std::unique_ptr<MqttTransport> transport_;
  std::unique_ptr<Agent> agent_;
  std::optional<LogStreams> log_streams_;
  std::optional<ExecStreams> exec_streams_;
  std::optional<ForwardStreams> forward_streams_;
  std::optional<LoadStreams> load_streams_;
  std::optional<UsageStreams> usage_streams_;
  std::optional<DeviceStreams> device_streams_;
  std::optional<StreamServer> streams_;
  std::optional<Dispatch> dispatch_;
  bool is_connecting_ = false;
  bool ending_ = false;
};

}  // namespace

int run_agent(int argc, const char* const* argv) {
  return run_guarded("berth-agent", [&] {
    const Result<CommandLine> line = read_command_line(argc, argv);
    if (!line) {
      for (const std::string& reason : line.error().reasons())
        std::fprintf(stderr, "berth-agent: %s\n", reason.c_str());
      return kExitUsage;
    }
    if (line->text) return print("berth-agent", *line->text);
    return AgentApp(line->settings).run();
  });
}

}  // namespace berth
