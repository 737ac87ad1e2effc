#include "firmware-host/agent/app.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/agent/agent.h"
#include "core/agent/records.h"
#include "firmware-host/agent/device_certificate.h"
#include "firmware-host/agent/exit_codes.h"
#include "firmware-host/agent/output_files.h"
#include "firmware-host/agent/pool_files.h"
#include "firmware-host/agent/process_runtime.h"
#include "firmware-host/agent/settings.h"
#include "firmware-host/agent/workload.h"
#include "firmware-host/broker_connection.h"
#include "firmware-host/limited_log.h"
#include "firmware-host/logging.h"
#include "firmware-host/loop.h"
#include "firmware-host/program.h"
#include "firmware-host/real_clock.h"
#include "firmware-host/service_manager.h"
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

  int open_runtime() {
    ProcessRuntimeConfig config;
    config.fleet = settings_.agent.fleet;
    config.node = settings_.agent.node;
    config.root = state_->file("pods");
    settings_.agent.features = process_features();
    for (const LocalVolume& volume : settings_.agent.volumes) {
      if (volume.mount_point) config.mount_points.push_back(volume.path);
    }
    const std::vector<std::string>& roots = settings_.pool_mount_points;
    config.mount_points.insert(config.mount_points.end(), roots.begin(), roots.end());
    runtime_ = std::make_unique<ProcessRuntime>(std::move(config), loop_.context(), clock_, timers_, log_);
    output_.emplace(state_->file("output"), state_->file("pods"), OutputFiles::Limits{}, log_);
    settings_.agent.output = &*output_;
    settings_.agent.pool_directories = &pools_;
    for (const Status& opened :
         {runtime_->open(), output_->open(), pools_.open(settings_.agent.volume_pools, settings_.pool_quotas, roots)}) {
      if (!opened.is_success()) return fail(kExitMachine, "cannot start", opened);
    }
    return kExitOk;
  }

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
        std::make_unique<Agent>(settings_.agent, clock_, *transport_, *store_, *runtime_, timers_, log_, true_random());
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
  RealClock clock_;
  Timers timers_;
  SpdLog lines_;
  LimitedLog log_{lines_, clock_};
  EventLoop loop_;
  ServiceManager service_{clock_, timers_};
  std::optional<StateDirectory> state_;
  std::unique_ptr<SqliteStore> store_;
  std::optional<MarkFile> marks_;
  std::unique_ptr<ProcessRuntime> runtime_;
  std::optional<OutputFiles> output_;
  KernelQuotas quotas_;
  PoolFiles pools_{quotas_, log_};
  std::optional<TimeFile> time_file_;    // with TLS
  std::optional<TimeFloor> time_floor_;  // likewise
  std::optional<DeviceCertificate> certificate_;
  std::unique_ptr<MqttTransport> transport_;
  std::unique_ptr<Agent> agent_;
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
