#include "firmware-host/gateway/app.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/gateway/gateway.h"
#include "core/gateway/leadership.h"
#include "firmware-host/broker_connection.h"
#include "firmware-host/gateway/broker.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/gateway/certificate_authority.h"
#include "firmware-host/gateway/command_line.h"
#include "firmware-host/gateway/exit_codes.h"
#include "firmware-host/gateway/installation.h"
#include "firmware-host/gateway/memory_budget.h"
#include "firmware-host/gateway/scheduler_config.h"
#include "firmware-host/gateway/secret_sealer.h"
#include "firmware-host/gateway/signing.h"
#include "firmware-host/gateway/status_pages.h"
#include "firmware-host/gateway/store.h"
#include "firmware-host/gateway/time_zone_folder.h"
#include "firmware-host/gateway/write_budget.h"
#include "firmware-host/http_server.h"
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
#include "firmware-host/yaml.h"
#include "storage/key_file.h"
#include "storage/mark_file.h"
#include "storage/paths.h"
#include "storage/sqlite_store.h"
#include "transports/mqtt.h"

namespace berth {

namespace {

constexpr std::int64_t kLongTurnUs = 50'000;
constexpr Millis kTrimEveryMs = 1'000;
constexpr std::uint64_t kTrimBytes = 256 * 1024;

std::uint64_t memory_limit(const GatewaySettings& settings) {
  return settings.memory_limit_bytes.value_or(memory_of_machine() / 2);
}

// As many bytes as can be addressed, at most.
std::size_t in_memory(std::uint64_t bytes) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::size_t>::max()));
}

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

class GatewayApp {
 public:
  GatewayApp(GatewaySettings settings, SchedulerConfig scheduler, const Registry& registry)
      : settings_(std::move(settings)),
        scheduler_(std::move(scheduler)),
        registry_(registry),
        lines_(settings_.log.level, settings_.log.format),
        loop_(clock_, timers_) {}

  int run() {
    for (const std::string& warning : scheduler_.warnings)
      log_.write(Level::warn, "scheduler configuration", {{"warning", warning}});
    for (const auto step : {&GatewayApp::open_state, &GatewayApp::open_key, &GatewayApp::start_broker,
                            &GatewayApp::start_gateway, &GatewayApp::start_http, &GatewayApp::connect}) {
      if (const int code = (this->*step)(); code != gateway_exit::kOk) return code;
    }
    loop_.set_end_turn([this] { return end_turn(); });
    loop_.set_on_signal([this](int signal) { on_signal(signal); });
    timers_.at(clock_.now() + kStartMs, [] { give_back_start_pages(); });
    service_.ready("scheduling pods of fleet " + settings_.fleet);
    if (const Status ended = loop_.run(); !ended.is_success()) {
      return fail(gateway_exit::kStore,
                  "a commit failed, the contents of the store are unknown; exiting, restart the gateway", ended);
    }
    return gateway_exit::kOk;
  }

 private:
  int fail(int code, const std::string& event, const Status& status) {
    log_.write(Level::error, event, {{"error", status.message()}});
    return code;
  }

  int open_state() {
    const bool is_unused = is_unused_directory(settings_.state_dir);
    Result<StateDirectory> state = StateDirectory::open(settings_.state_dir);
    if (!state) {
      const bool occupied = state.error().code() == Code::unschedulable;
      return fail(occupied ? gateway_exit::kOccupied : gateway_exit::kMachine, "cannot start", state.error());
    }
    state_.emplace(std::move(*state));
    if (is_unused) {
      if (const Status marked = mark_new_installation(settings_.state_dir); !marked.is_success()) {
        return fail(gateway_exit::kMachine, "cannot start", marked);
      }
    }
    return gateway_exit::kOk;
  }

  int start_broker() {
    if (settings_.broker) {
      issuer_ = std::make_unique<SigningClient>(loop_.context(), clock_, timers_, settings_.signing_socket);
      return gateway_exit::kOk;
    }
    BrokerOptions options;
    options.state_dir = settings_.embedded_broker.state_dir;
    if (options.state_dir.empty()) options.state_dir = settings_.state_dir;
    options.fleet = settings_.fleet;
    options.listen = settings_.embedded_broker.listen;
    options.port = settings_.embedded_broker.port;
    options.certificate_port = settings_.embedded_broker.certificate_port;
    options.names = settings_.embedded_broker.names;
    options.insecure_plaintext = settings_.embedded_broker.insecure_plaintext;
    options.memory_limit = settings_.embedded_broker.memory_limit_bytes;
    options.identities.push_back({settings_.gateway, BrokerIdentity::Role::gateway, {}});
    for (const ClientSettings& client : settings_.clients) {
      BrokerIdentity identity{client.identity, BrokerIdentity::Role::node, client.password};
      if (client.role == ClientSettings::Role::operator_) identity.role = BrokerIdentity::Role::operator_;
      if (!client.password_file.empty()) {
        Result<std::string> password = read_first_line(client.password_file);
        if (!password) return fail(gateway_exit::kUsage, "cannot start", password.error());
        identity.password = std::move(*password);
      }
      options.identities.push_back(std::move(identity));
    }
    issuer_ =
        std::make_unique<CertificateAuthority>(loop_.context(), clock_, timers_, options.state_dir + "/broker/tls");
    broker_ = std::make_unique<Broker>(loop_.context(), clock_, timers_, log_, std::move(options));
    const Status started = broker_->start();
    return started.is_success() ? gateway_exit::kOk : fail(gateway_exit::kMachine, "cannot start the broker", started);
  }

  GatewayOptions options() const {
    GatewayOptions options;
    options.fleet = settings_.fleet;
    options.gateway = settings_.gateway;
    options.known_nodes = settings_.known_nodes;
    options.same_name = settings_.same_name;
    options.profiles = scheduler_.profiles;
    options.queue.initial_backoff_ms = scheduler_.pod_initial_backoff_ms;
    options.queue.max_backoff_ms = scheduler_.pod_max_backoff_ms;
    options.promise_ms = settings_.promise_limit_ms;
    options.node_limits = settings_.node_limits;
    options.scheduling_cache_bytes = in_memory(settings_.scheduling_cache_bytes);
    options.seed = settings_.tie_seed != 0 ? settings_.tie_seed : true_random();
    options.identity_seed = true_random();
    options.proof_key = key_;
    options.sealer = sealer_.get();
    options.time_zones = &time_zones_;
    return options;
  }

  // After the store was lost, the nodes to wait for must come from elsewhere (P8). The embedded broker keeps no
  // retained messages either, but its accounts name the nodes.
  std::vector<std::string> enrolled_nodes() const {
    return broker_ != nullptr ? broker_->nodes() : std::vector<std::string>();
  }

  // Before the store is looked at: a store without its key would be a lost one to its devices.
  int open_key() {
    Result<ProofKey> key = open_proof_key(state_->file("gateway.key"));
    if (!key) return fail(gateway_exit::kMachine, "cannot start", key.error());
    key_ = *key;
    sealer_ = std::make_unique<SecretSealer>(state_->file("secrets.key"));
    return gateway_exit::kOk;
  }

  int start_gateway() {
    const std::string path = state_->file("gateway.db");
    OpenedStore opened = open_gateway_store(path, clock_, log_);
    if (opened.store == nullptr) return gateway_exit::kOccupied;
    if (const int code = make_transport(); code != gateway_exit::kOk) return code;
    for (int attempt = 0;; ++attempt) {
      store_ = std::move(opened.store);
      GatewayOptions gateway_options = options();
      gateway_options.hold = opened.hold;
      gateway_options.issuer = issuer_.get();
      gateway_options.lost_commits = opened.lost_commits;
      gateway_options.set_aside = stores_aside(path);
      if (opened.hold.empty()) gateway_options.marks = &marks_.emplace(state_->file("gateway.mark"), log_);
      gateway_options.enrolled_nodes = enrolled_nodes();
      // While nothing can be stored, the mark stays for the start that can.
      marked_new_ = opened.hold.empty() && is_new_installation(settings_.state_dir);
      gateway_options.first_boot = marked_new_ ? FirstBoot::is_new : FirstBoot::lost;
      log_.write(Level::info, "tie-breaking seed", {{"seed", std::to_string(gateway_options.seed)}});
      gateway_ = std::make_unique<Gateway>(gateway_options, registry_, clock_, *leadership_, *store_, timers_, log_);
      const Status started = gateway_->start();
      if (started.is_success()) break;
      if (started.code() == Code::unresolvable) return fail(gateway_exit::kUsage, "cannot start", started);
      if (attempt > 0 || !is_damaged(*store_)) return fail(gateway_exit::kStore, "cannot start", started);
      gateway_.reset();  // the store could be opened, but its records are invalid
      opened = replace_gateway_store(std::move(store_), path, started.message(), clock_, log_);
      if (opened.store == nullptr) return gateway_exit::kOccupied;
    }
    leadership_->set_gateway(*gateway_);
    return gateway_exit::kOk;
  }

  int start_http() {
    const HttpSettings& settings = settings_.http;
    const std::string address_file = state_->file("http");
    std::error_code ignored;
    std::filesystem::remove(address_file, ignored);
    if (!settings.enabled) return gateway_exit::kOk;
    pages_.emplace(clock_, timers_, *gateway_, *leadership_, configz());
    if (broker_ != nullptr) pages_->add_certificates([this] { return broker_->certificate_problem(); });
    HttpServer::Options options;
    options.listen = settings.listen;
    options.port = settings.port.value_or(HttpSettings::kDefaultPort);
    Status started = listen(options);
    if (started.code() == Code::unschedulable && !settings.port) {
      options.port = 0;
      started = listen(options);
    }
    if (!started.is_success()) return fail(gateway_exit::kMachine, "cannot start", started);
    const bool v6 = settings.listen.find(':') != std::string::npos;
    const std::string address =
        (v6 ? "[" + settings.listen + "]" : settings.listen) + ":" + std::to_string(http_->port());
    std::ofstream file(address_file);
    file << address << "\n";
    if (!file.flush()) {
      return fail(gateway_exit::kMachine, "cannot start", Status::error(address_file + ": cannot write file"));
    }
    log_.write(Level::info, "serving health and metrics", {{"http", address}});
    return gateway_exit::kOk;
  }

  Status listen(const HttpServer::Options& options) {
    http_.emplace(loop_.context(), clock_, timers_, log_, options, [this](const HttpRequest& request) {
      if (const auto* store = dynamic_cast<const SqliteStore*>(store_.get())) {
        gateway_->metrics().store_commits.at().set(store->commits());
        gateway_->metrics().store_bytes.at().set(store->bytes_written());
      }
      gateway_->metrics().resident_memory.at().set(static_cast<std::int64_t>(resident_.bytes()));
      gateway_->metrics().scheduling_cache.at().set(static_cast<std::int64_t>(gateway_->fast_path().kept_bytes()));
      gateway_->metrics().memory_limit.at().set(static_cast<std::int64_t>(memory_.limit()));
      return pages_->answer(request);
    });
    return http_->start();
  }

  Json limits_json() const {
    const NodeLimits& limits = settings_.node_limits;
    const auto number = [](std::size_t count) { return static_cast<std::int64_t>(count); };
    Json json = Json::object();
    json.set("cpu", limits.cpu.to_text()).set("memory", limits.memory.to_text()).set("pods", limits.pods.to_text());
    json.set("volumes", number(limits.volumes)).set("labels", number(limits.labels)).set("slots", number(limits.slots));
    json.set("statuses", number(limits.statuses)).set("statusBytes", number(limits.status_bytes));
    json.set("incarnationsPerHour", number(limits.incarnations_per_hour));
    json.set("twinQuietSeconds", limits.twin_quiet_ms / 1000);
    return json.set("takeoversPerHour", number(limits.takeovers_per_hour));
  }

  Json configz() const {
    Json own = Json::object();
    own.set("fleet", settings_.fleet);
    own.set("gateway", settings_.gateway);
    own.set("version", BERTH_VERSION);
    own.set("stateDir", settings_.state_dir);
    own.set("schedulerConfig", settings_.scheduler_config);
    own.set("flashBytesPerDay", std::to_string(settings_.flash_bytes_per_day));
    own.set("memoryLimitBytes", std::to_string(memory_.limit()));
    own.set("promiseLimitSeconds", settings_.promise_limit_ms / 1000);
    own.set("takeoverAfterSeconds", gateway_takeover_ms(settings_) / 1000);
    own.set("nodeLimits", limits_json());
    return Json(Json::Object{{"kubescheduler.config.k8s.io", scheduler_.completed}, {"berth", std::move(own)}});
  }

  int make_transport() {
    BrokerSettings broker = settings_.broker.value_or(BrokerSettings{});
    if (broker_ != nullptr) {
      broker.port = static_cast<std::uint16_t>(broker_->local_port());
      broker.username = settings_.gateway;
    }
    // Another client cannot choose the same id, and neither does a second gateway of this name (P13).
    const std::string run = Random(true_random()).hex_id();
    const std::string client_id = "berth-" + settings_.fleet + "-gateway-" + settings_.gateway + "-" + run;
    warn_of_plaintext(broker, log_);
    Result<MqttOptions> options = mqtt_options(broker, client_id, gateway_keepalive_s(settings_));
    if (!options) return fail(gateway_exit::kUsage, "cannot start", options.error());
    if (!broker.ca_file.empty()) {
      time_file_.emplace(state_->file("time"), log_);
      time_floor_.emplace(build_day(), *time_file_, clock_, timers_);
      learn_from(broker, *time_floor_, clock_, log_);
      options->tls.time_floor = [this] { return time_floor_->floor(); };
    }
    // Short, because all devices and operators wait for the gateway; a single client cannot overload the broker.
    options->backoff_max = 5'000;
    options->read_rest = 10;  // heartbeats
    options->awaited_below = Topics(settings_.fleet).root() + "gateways/";
    options->gather_acks = true;
    if (broker_ != nullptr) options->password = broker_->password(settings_.gateway);
    transport_ = std::make_unique<MqttTransport>(loop_.context(), log_, std::move(*options));
    LeadershipOptions leadership;
    leadership.fleet = settings_.fleet;
    leadership.gateway = settings_.gateway;
    leadership.machine = machine_code(*key_);
    leadership.run = run;
    leadership.takeover_ms = gateway_takeover_ms(settings_);
    leadership_.emplace(std::move(leadership), clock_, timers_, log_, *transport_);
    return gateway_exit::kOk;
  }

  int connect() {
    transport_->set_will(leadership_->will());
    transport_->start();
    log_.write(Level::info, "connecting to the broker",
               {{"broker", settings_.broker ? settings_.broker->host + ":" + std::to_string(settings_.broker->port)
                                            : "embedded, port " + std::to_string(broker_->port())},
                {"state", settings_.state_dir}});
    return gateway_exit::kOk;
  }

  Status end_turn() {
    const std::int64_t began_us = clock_.now_us();
    const std::int64_t handled_us = processor_us();
    const std::uint64_t commits = count_commits();
    Status finished = gateway_->finish_turn();
    const std::int64_t ended_us = processor_us();
    if (count_commits() > commits) {
      const std::int64_t waited_us = clock_.now_us() - began_us - (ended_us - handled_us);
      gateway_->metrics().commit_wait.at().observe(seconds_between(0, std::max<std::int64_t>(waited_us, 0)));
    }
    note_turn(handled_us - turn_ended_us_, ended_us - handled_us);
    turn_ended_us_ = ended_us;
    if (finished.is_success()) service_.turn_ended();
    // The store tells by itself from now on.
    if (finished.is_success() && std::exchange(marked_new_, false)) unmark_new_installation(settings_.state_dir);
    check_write_budget();
    check_memory();
    if (finished.is_success() && ending_) {
      if (time_floor_) time_floor_->save();
      leadership_->say_goodbye();
      transport_->disconnect();
      if (broker_ != nullptr) broker_->stop();
      loop_.stop();
    }
    return finished;
  }

  std::uint64_t count_commits() const {
    const auto* store = dynamic_cast<const SqliteStore*>(store_.get());
    return store == nullptr ? 0 : store->commits();
  }

  // `handlers_us`: CPU time of the loop's handlers; `finish_us`: of finish_turn().
  void note_turn(std::int64_t handlers_us, std::int64_t finish_us) {
    gateway_->metrics().turn_duration.at().observe(seconds_between(0, handlers_us + finish_us));
    if (handlers_us + finish_us <= kLongTurnUs) return;
    log_.write(Level::info, "long turn",
               {{"handlers_us", std::to_string(handlers_us)}, {"finish_us", std::to_string(finish_us)}});
  }

  void check_write_budget() {
    const auto* store = dynamic_cast<const SqliteStore*>(store_.get());
    if (store == nullptr) return;
    const WriteBudget::State state = budget_.note(clock_.now(), store->bytes_written());
    if (state == budget_state_) return;
    if (state > budget_state_) {
      log_.write(Level::warn,
                 state == WriteBudget::State::over ? "flash write budget exhausted: non-essential writes are deferred"
                                                   : "flash write budget nearly exhausted",
                 {{"bytes_in_24h", std::to_string(budget_.used())},
                  {"flash_bytes_per_day", std::to_string(settings_.flash_bytes_per_day)}});
    }
    budget_state_ = state;
    gateway_->save_writes(state == WriteBudget::State::over);
  }

  // Returns freed memory to the kernel first, so that the peak of a burst or of reading the store does not count
  // forever; and once more when it has stopped growing, since what the end of a burst frees makes nothing grow. Then
  // the cache of classes gives up what is short, before anything is refused.
  void check_memory() {
    std::uint64_t resident = resident_.bytes();
    const bool grown = resident > trimmed_bytes_ + kTrimBytes;
    const bool is_due =
        (grown || has_grown_ || memory_full_ || cache_limited_) && clock_.now() - trimmed_at_ >= kTrimEveryMs;
    if (is_due) {
      has_grown_ = grown;
      resident = trim();
    }
    if (is_due || (!memory_full_ && memory_.is_reached(resident))) resident = limit_cache(resident);
    const bool full = memory_.note(resident);
    if (full == memory_full_) return;
    memory_full_ = full;
    if (full) {
      log_.write(Level::warn, "memory is full: new pods are refused, existing pods are kept",
                 {{"resident", in_mib(resident_.bytes())}, {"memory_limit_bytes", std::to_string(memory_.limit())}});
    } else {
      log_.write(Level::info, "memory is available again: new pods are accepted",
                 {{"resident", in_mib(resident_.bytes())}});
    }
    gateway_->refuse_new(full ? "memory is full: berthd uses the " + in_mib(memory_.limit()) +
                                    " that memory_limit_bytes allows; delete pods or raise the limit"
                              : "");
  }

  std::uint64_t trim() {
    trimmed_at_ = clock_.now();
    trim_freed_memory();
    return trimmed_bytes_ = resident_.bytes();
  }

  std::uint64_t limit_cache(std::uint64_t resident) {
    const std::size_t before = gateway_->fast_path().kept_bytes();
    const std::uint64_t left = memory_.left_for_cache(resident, before);
    cache_limited_ = left < settings_.scheduling_cache_bytes;
    gateway_->fast_path().keep_at_most(in_memory(std::min(left, settings_.scheduling_cache_bytes)));
    return gateway_->fast_path().kept_bytes() < before ? trim() : resident;
  }

  void on_signal(int signal) {
    log_.write(Level::info, "stopping", {{"signal", std::to_string(signal)}});
    service_.stopping();
    gateway_->say_goodbye();
    ending_ = true;
  }

  GatewaySettings settings_;
  SchedulerConfig scheduler_;
  const Registry& registry_;
  RealClock clock_;
  Timers timers_;
  SpdLog lines_;
  LimitedLog log_{lines_, clock_};
  EventLoop loop_;
  ServiceManager service_{clock_, timers_};
  std::optional<StateDirectory> state_;
  std::unique_ptr<Broker> broker_;  // null: settings_.broker names an external one
  std::unique_ptr<Store> store_;
  std::optional<ProofKey> key_;
  TimeZoneFolder time_zones_;
  std::unique_ptr<SecretSealer> sealer_;
  std::optional<MarkFile> marks_;
  std::optional<TimeFile> time_file_;    // with TLS to a broker of one's own
  std::optional<TimeFloor> time_floor_;  // likewise
  std::unique_ptr<MqttTransport> transport_;
  std::optional<Leadership> leadership_;
  std::unique_ptr<Gateway> gateway_;
  std::unique_ptr<CertificateIssuer> issuer_;  // of the embedded broker, or as the configuration says; null: none
  std::optional<StatusPages> pages_;
  std::optional<HttpServer> http_;
  WriteBudget budget_{settings_.flash_bytes_per_day};
  WriteBudget::State budget_state_ = WriteBudget::State::within;
  ResidentMemory resident_;
  MemoryBudget memory_{memory_limit(settings_)};
  bool memory_full_ = false;
  bool cache_limited_ = false;      // since memory is nearly full
  bool marked_new_ = false;         // the state directory is marked as that of a new installation
  std::int64_t turn_ended_us_ = 0;  // on the scale of processor_us()
  Millis trimmed_at_ = 0;
  bool has_grown_ = false;           // before that
  std::uint64_t trimmed_bytes_ = 0;  // resident memory after that
  bool ending_ = false;
};

int refuse(const Status& error) {
  for (const std::string& reason : error.reasons()) std::fprintf(stderr, "berthd: %s\n", reason.c_str());
  return gateway_exit::kUsage;
}

int start_gateway(int argc, const char* const* argv, const Registry& registry) {
  const Result<GatewayCommandLine> line = read_gateway_command_line(argc, argv);
  if (!line) return refuse(line.error());
  if (line->text) return print("berthd", *line->text);
  if (line->sign) return sign_one(*line->sign, STDIN_FILENO, STDOUT_FILENO);
  if (line->init) {
    const Status marked = init_installation(line->settings.state_dir);
    return marked.is_success() ? gateway_exit::kOk : refuse(marked);
  }
  Result<SchedulerConfig> scheduler = read_scheduler_config(line->settings.scheduler_config, registry);
  if (!scheduler) return refuse(scheduler.error());
  if (line->print_config) {
    for (const std::string& warning : scheduler->warnings)
      std::fprintf(stderr, "berthd: warning: %s\n", warning.c_str());
    return print("berthd", dump_yaml(scheduler->completed));
  }
  return GatewayApp(line->settings, std::move(*scheduler), registry).run();
}

}  // namespace

int run_gateway(int argc, const char* const* argv, const Registry& registry) {
  return run_guarded("berthd", [&] { return start_gateway(argc, argv, registry); });
}

}  // namespace berth
