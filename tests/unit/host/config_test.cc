#include "firmware-host/config.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth {
namespace {

using Texts = std::vector<std::string>;

template <class T>
Texts reasons(const Result<T>& result) {
  return result ? Texts{} : result.error().reasons();
}

TEST(GatewayConfig, HasDefaultsForEverything) {
  const auto settings = parse_gateway_config("b.yaml", "");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->fleet, "default");
  EXPECT_EQ(settings->gateway, "gateway");
  EXPECT_FALSE(settings->broker);
  EXPECT_EQ(settings->embedded_broker.listen, "127.0.0.1");
  EXPECT_EQ(settings->embedded_broker.port, 0);
  EXPECT_EQ(settings->embedded_broker.insecure_plaintext, std::nullopt);
  EXPECT_EQ(settings->promise_limit_ms, 60000);
  EXPECT_EQ(settings->takeover_after_ms, 120000);
  EXPECT_EQ(settings->scheduler_config, "");
  EXPECT_EQ(settings->tie_seed, 0u);
  EXPECT_TRUE(settings->http.enabled);
  EXPECT_EQ(settings->http.listen, "127.0.0.1");
  EXPECT_FALSE(settings->http.port);
  EXPECT_EQ(settings->log.level, Level::info);
}

TEST(GatewayConfig, NoGatewayTakesOverWhileTheBrokerMayStillDeliverOfASilentOne) {
  const auto of = [](const std::string& text) {
    const auto settings = parse_gateway_config("b.yaml", text);
    EXPECT_TRUE(settings) << text;
    return std::pair{gateway_keepalive_s(*settings), gateway_takeover_ms(*settings)};
  };
  EXPECT_EQ(of(""), std::pair(60, Millis{120'000}));
  EXPECT_EQ(of("takeover_after_seconds: 10"), std::pair(5, Millis{10'000}));
  EXPECT_EQ(of("{takeover_after_seconds: 10, broker: {host: b}}"), std::pair(5, Millis{10'000}));
  EXPECT_EQ(of("broker: {host: b, keepalive_seconds: 90}"), std::pair(90, Millis{180'000}));
}

TEST(GatewayConfig, NamesLimitsOfNodesThatCannotBe) {
  const auto settings = parse_gateway_config("b.yaml", "node_limits: {cpu: 0, slots: 0, volume: 3}");
  ASSERT_FALSE(settings);
  const std::string said = settings.error().message();
  for (const char* field : {"node_limits.cpu: must be greater than 0", "node_limits.slots", "node_limits.volume"}) {
    EXPECT_NE(said.find(field), std::string::npos) << said;
  }
}

TEST(GatewayConfig, ReadsEveryKey) {
  const auto settings = parse_gateway_config("b.yaml", R"(
fleet: plant
gateway: gw-1
state_dir: /srv/berth
embedded_broker: {listen: 0.0.0.0, port: 1883, certificate_port: 8883, names: [berth.example, 192.0.2.1],
  insecure_plaintext: false, state_dir: /srv/broker}
clients:
- {identity: n1, role: node, password: secret}
- {identity: anna, role: operator, password_file: /etc/berth/anna}
known_nodes: [n1, n2]
scheduler_config: /etc/berth/scheduler.yaml
tie_seed: "9223372036854775807"
http: {enabled: false, listen: "::1", port: 0}
node_limits: {cpu: 2500m, memory: 8Gi, pods: 20, volumes: 3, labels: 4, slots: 5, incarnations_per_hour: 6,
              twin_quiet_seconds: 7}
promise_limit_seconds: 90
takeover_after_seconds: 45
same_name: ask
flash_bytes_per_day: 2Gi
memory_limit_bytes: 96Mi
scheduling_cache_bytes: 3Mi
log: {level: debug, format: json}
)");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->fleet, "plant");
  EXPECT_EQ(settings->gateway, "gw-1");
  EXPECT_EQ(settings->state_dir, "/srv/berth");
  EXPECT_EQ(settings->embedded_broker.listen, "0.0.0.0");
  EXPECT_EQ(settings->embedded_broker.port, 1883);
  EXPECT_EQ(settings->embedded_broker.certificate_port, 8883);
  EXPECT_EQ(settings->embedded_broker.names, (std::vector<std::string>{"berth.example", "192.0.2.1"}));
  EXPECT_EQ(settings->embedded_broker.insecure_plaintext, false);
  EXPECT_EQ(settings->embedded_broker.state_dir, "/srv/broker");
  ASSERT_EQ(settings->clients.size(), 2u);
  EXPECT_EQ(settings->clients[0].password, "secret");
  EXPECT_EQ(settings->clients[1].role, ClientSettings::Role::operator_);
  EXPECT_EQ(settings->clients[1].password_file, "/etc/berth/anna");
  EXPECT_EQ(settings->known_nodes, (Texts{"n1", "n2"}));
  EXPECT_EQ(settings->scheduler_config, "/etc/berth/scheduler.yaml");
  EXPECT_EQ(settings->tie_seed, 9223372036854775807u);
  EXPECT_FALSE(settings->http.enabled);
  EXPECT_EQ(settings->http.listen, "::1");
  EXPECT_EQ(settings->http.port, 0);
  EXPECT_EQ(settings->promise_limit_ms, 90000);
  EXPECT_EQ(settings->takeover_after_ms, 45000);
  EXPECT_EQ(settings->same_name, SameName::ask);
  EXPECT_EQ(settings->flash_bytes_per_day, 2ull << 30);
  EXPECT_EQ(settings->memory_limit_bytes, 96ull << 20);
  EXPECT_EQ(settings->scheduling_cache_bytes, 3ull << 20);
  EXPECT_EQ(settings->node_limits.cpu, Quantity::from_milli(2500));
  EXPECT_EQ(settings->node_limits.memory, Quantity(std::int64_t{8} << 30));
  EXPECT_EQ(settings->node_limits.pods, Quantity(20));
  EXPECT_EQ(settings->node_limits.volumes, 3u);
  EXPECT_EQ(settings->node_limits.labels, 4u);
  EXPECT_EQ(settings->node_limits.slots, 5u);
  EXPECT_EQ(settings->node_limits.incarnations_per_hour, 6u);
  EXPECT_EQ(settings->node_limits.twin_quiet_ms, 7000);
  EXPECT_EQ(settings->log.level, Level::debug);
  EXPECT_EQ(settings->log.format, LogFormat::json);
}

TEST(GatewayConfig, ReadsAnExternalBroker) {
  const auto settings = parse_gateway_config("b.yaml", R"(
broker:
  host: broker.example
  username: gateway
  password_file: /etc/berth/password
  keepalive_seconds: 30
  tls: {ca_file: /etc/ca.pem, cert_file: /etc/c.pem, key_file: /etc/k.pem}
)");
  ASSERT_TRUE(settings) << settings.error().message();
  ASSERT_TRUE(settings->broker);
  EXPECT_EQ(settings->broker->host, "broker.example");
  EXPECT_EQ(settings->broker->port, 8883);
  EXPECT_EQ(settings->broker->username, "gateway");
  EXPECT_EQ(settings->broker->password_file, "/etc/berth/password");
  EXPECT_EQ(settings->broker->ca_file, "/etc/ca.pem");
  EXPECT_EQ(settings->broker->cert_file, "/etc/c.pem");
  EXPECT_EQ(settings->broker->key_file, "/etc/k.pem");
  EXPECT_EQ(settings->broker->keepalive_s.value_or(0), 30);
  EXPECT_EQ(parse_gateway_config("b", "broker: {host: h, port: 1, tls: {ca_file: c}}")->broker->port, 1);
  EXPECT_EQ(parse_gateway_config("b", "broker: {host: h}")->broker->port, 1883);
}

TEST(GatewayConfig, NamesFileLineColumnAndField) {
  struct Case {
    const char* yaml;
    const char* error;
  };
  const Case cases[] = {
      {"fleet: a\nflet: b\n", "b.yaml:2:1: flet: unknown field; did you mean fleet?"},
      {"fleet: A/B\n", "b.yaml:1:1: fleet: expected a name"},
      {"fleet: 5\n", "b.yaml:1:1: fleet: expected a string, got 5; put it in quotes"},
      {"[]\n", "b.yaml:1:1: expected an object, got a list"},
      {"log:\n  level: loud\n", "b.yaml:2:3: log.level: expected one of debug, info, warn, error, got \"loud\""},
      {"log: {levle: info}\n", "b.yaml:1:7: log.levle: unknown field; did you mean level?"},
      {"takeover_after_seconds: 1\n",
       "b.yaml:1:1: takeover_after_seconds: expected an integer from 10 to 86400, got 1"},
      {"promise_limit_seconds: 0\n", "b.yaml:1:1: promise_limit_seconds: expected an integer from 1 to 3600, got 0"},
      {"promise_limit_seconds: 60s\n",
       "b.yaml:1:1: promise_limit_seconds: expected an integer from 1 to 3600, got \"60s\""},
      {"broker: {port: 1}\n", "b.yaml:1:1: broker.host: missing; expected a host name or address"},
      {"broker: {host: h, port: 70000}\n", "b.yaml:1:19: broker.port: expected an integer from 1 to 65535, got 70000"},
      {"broker: {host: h, tls: {cert_file: c, key_file: k}}\n", "b.yaml:1:19: broker.tls.ca_file: missing"},
      {"broker: {host: h, tls: {ca_file: a, cert_file: c}}\n",
       "b.yaml:1:19: broker.tls.key_file: missing; set cert_file and"},
      {"broker: {host: h, password_file: p}\n", "b.yaml:1:1: broker.username: missing"},
      {"broker: {host: h}\nembedded_broker: {}\n", "b.yaml:2:1: embedded_broker: applies to the embedded broker only"},
      {"embedded_broker: {port: 5, certificate_port: 5}", "b.yaml:1:28: embedded_broker.certificate_port: must not be"},
      {"embedded_broker: {names: [\"a,IP:192.0.2.1\"]}",
       "b.yaml:1:27: embedded_broker.names[0]: expected a host name or an address"},
      {"broker: {host: h}\nclients: []\n", "b.yaml:2:1: clients: applies to the embedded broker only"},
      {"clients:\n- {identity: a, role: node, password: p, password_file: f}\n",
       "b.yaml:2:42: clients[0].password_file: set either this or password"},
      {"clients:\n- {identity: a, role: admin, password: p}\n",
       "b.yaml:2:17: clients[0].role: expected one of node, operator"},
      {"clients:\n- {identity: a, role: node, password: p}\n- {identity: a, role: operator, password: p}\n",
       "b.yaml:3:4: clients[1].identity: duplicate identity a; identities must be unique"},
      {"known_nodes: [a, a]\n", "b.yaml:1:18: known_nodes[1]: duplicate node a; list each node once"},
      {"known_nodes: [a, B]\n", "b.yaml:1:18: known_nodes[1]: expected a name"},
      {"scheduler_config: ''\n", "b.yaml:1:1: scheduler_config: expected the path of a file"},
      {"scheduling_cache_bytes: -1\n",
       "b.yaml:1:1: scheduling_cache_bytes: must be 0 (one class of pods alone) or more"},
      {"tie_seed: -1\n", "b.yaml:1:1: tie_seed: expected an integer from 0"},
      {"fleet: [\n", "b.yaml:2:1: invalid YAML"},
      {"fleet: a\n---\nfleet: b\n", "b.yaml:3:1: a second document"},
  };
  for (const Case& c : cases) {
    const Texts errors = reasons(parse_gateway_config("b.yaml", c.yaml));
    ASSERT_EQ(errors.size(), 1u) << c.yaml;
    EXPECT_EQ(errors[0].substr(0, std::string_view(c.error).size()), c.error);
  }
  EXPECT_EQ(reasons(parse_gateway_config("b.yaml", "a: 1\nfleet: 5\nlog: 7\n")).size(), 3u);
}

TEST(AgentConfigFile, ReadsWhatLogsMayTake) {
  const auto settings = parse_agent_config("a.yaml", R"(
logs: {file_bytes: 128Ki, files: 3, bytes_per_second: 0, kept_pods: 8, kept_bytes: 1Mi, total_bytes: 4Mi}
)");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->logs, (LogLimits{128 << 10, 3, 0}));
  EXPECT_EQ(settings->device_logs, (DeviceLogLimits{8, 1 << 20, 4 << 20}));
}

TEST(AgentConfigFile, ReadsEveryKeyOverTheDefaults) {
  AgentSettings defaults;
  defaults.agent.node = "host";
  defaults.agent.labels["from"] = "defaults";
  defaults.agent.capacity["cpu"] = Quantity(4);
  defaults.agent.capacity["pods"] = Quantity(110);
  const auto settings = parse_agent_config("a.yaml", R"(
fleet: plant
gateway: gw
state_dir: /srv/agent
broker: {host: 10.0.0.1, port: 1884}
labels: {zone: a}
taints: [{key: dedicated, value: cam, effect: NoSchedule}]
capacity: {cpu: 500m, memory: 1.5Gi, example.com/cam: 2}
volumes:
- {name: data, path: /srv/data, capacity: 10Gi}
- {name: fast, path: /srv/fast, capacity: 1Gi, storage_class: nvme, mount_point: true}
volume_pools: [{class: fast, root: /srv/pool, capacity: 8Gi, mount_point: true}, {class: slow, root: /srv/slow, capacity: 1Gi, quota: required}]
reserved: {cpu: 100m, memory: 64Mi}
eviction:
  hard: {memory.available: 50Mi, pid.available: 10%}
  soft: {nodefs.available: 20%}
  soft_grace_seconds: {nodefs.available: 90}
  minimum_reclaim: {nodefs.available: 1Gi}
  max_pod_grace_seconds: 20
  pressure_transition_seconds: 60
heartbeat_seconds: 10
log: {level: warn}
)",
                                           defaults);
  ASSERT_TRUE(settings) << settings.error().message();
  const AgentConfig& agent = settings->agent;
  EXPECT_EQ(agent.fleet, "plant");
  EXPECT_EQ(agent.node, "host");
  EXPECT_EQ(agent.gateway, "gw");
  EXPECT_EQ(settings->state_directory, "/srv/agent");
  EXPECT_EQ(settings->broker.host, "10.0.0.1");
  EXPECT_EQ(settings->broker.port, 1884);
  EXPECT_EQ(agent.labels, (Labels{{"from", "defaults"}, {"zone", "a"}}));
  EXPECT_EQ(agent.taints, (std::vector<Taint>{{"dedicated", "cam", TaintEffect::no_schedule}}));
  EXPECT_EQ(agent.volume_pools, (std::vector<VolumePool>{{"fast", "/srv/pool", *Quantity::parse("8Gi")},
                                                         {"slow", "/srv/slow", *Quantity::parse("1Gi")}}));
  EXPECT_EQ(settings->pool_quotas, (std::vector<PoolQuota>{PoolQuota::automatic, PoolQuota::required}));
  EXPECT_EQ(settings->pool_mount_points, std::vector<std::string>{"/srv/pool"});
  EXPECT_EQ(agent.capacity.at("cpu").milli_value(), 500);
  EXPECT_EQ(agent.capacity.at("memory").value(), 1610612736);
  EXPECT_EQ(agent.capacity.at("pods").value(), 110);
  EXPECT_EQ(agent.capacity.at("example.com/cam").value(), 2);
  ASSERT_EQ(agent.volumes.size(), 2u);
  EXPECT_EQ(agent.volumes[0].path, "/srv/data");
  EXPECT_EQ(agent.volumes[0].capacity, "10737418240");
  EXPECT_EQ(agent.volumes[0].storage_class, "local");
  EXPECT_FALSE(agent.volumes[0].mount_point);
  EXPECT_EQ(agent.volumes[1].storage_class, "nvme");
  EXPECT_TRUE(agent.volumes[1].mount_point);
  EXPECT_EQ(settings->reserved, (ResourceList{{"cpu", Quantity::from_milli(100)}, {"memory", Quantity(64 << 20)}}));
  using enum EvictionSignal;
  const EvictionSettings& eviction = settings->eviction;
  EXPECT_EQ(eviction.hard, (EvictionThresholds{{memory_available, {50 << 20, 0}}, {pid_available, {0, 10}}}));
  EXPECT_EQ(eviction.soft, (EvictionThresholds{{nodefs_available, {0, 20}}}));
  EXPECT_EQ(eviction.soft_grace_ms, (std::map<EvictionSignal, Millis>{{nodefs_available, 90'000}}));
  EXPECT_EQ(eviction.minimum_reclaim, (EvictionThresholds{{nodefs_available, {1 << 30, 0}}}));
  EXPECT_EQ(eviction.max_pod_grace_ms, 20'000);
  EXPECT_EQ(eviction.transition_ms, 60'000);
  EXPECT_EQ(agent.heartbeat_ms, 10000);
  EXPECT_EQ(settings->log_level, Level::warn);
  EXPECT_EQ(settings->log_format, LogFormat::text);
}

TEST(AgentConfigFile, NamesFileLineColumnAndField) {
  struct Case {
    const char* yaml;
    const char* error;
  };
  const Case cases[] = {
      {"labels: {zone: 5}\n", "a.yaml:1:10: labels.zone: expected a string, got 5; put it in quotes"},
      {"labels: {zone: a b}\n", "a.yaml:1:10: labels.zone: expected a label value"},
      {"taints:\n- {key: a}\n", "a.yaml:2:3: taints[0].effect: missing"},
      {"capacity: {memory: 1GB}\n", "a.yaml:1:12: capacity.memory: expected a quantity"},
      {"capacity: {memory: -1}\n", "a.yaml:1:12: capacity.memory: must not be negative"},
      {"eviction: {hard: {memory.free: 1Mi}}\n", "a.yaml:1:19: eviction.hard[\"memory.free\"]: unknown"},
      {"eviction: {hard: {pid.available: 5 %}}\n", "a.yaml:1:19: eviction.hard[\"pid.available\"]: expected an amount"},
      {"eviction: {soft: {pid.available: 5}}\n",
       "a.yaml:1:12: eviction.soft: needs soft_grace_seconds of pid.available"},
      {"capacity: {a b: 1}\n", "a.yaml:1:12: capacity[\"a b\"]: expected a resource name"},
      {"volumes:\n- {name: a, path: b, capacity: 1Gi}\n", "a.yaml:2:13: volumes[0].path: expected an absolute path"},
      {"volume_pools:\n- {class: a, root: /b/, capacity: 1Gi}\n", "a.yaml:2:14: volume_pools[0].root: expected"},
      {"volume_pools:\n- {class: a, root: /b}\n", "a.yaml:2:3: volume_pools[0].capacity: missing"},
      {"volume_pools:\n- {class: a, root: /b, capacity: 0}\n",
       "a.yaml:2:24: volume_pools[0].capacity: must be greater than 0"},
      {"volume_pools:\n- {class: a, root: /b, capacity: 1, quota: on}\n",
       "a.yaml:2:37: volume_pools[0].quota: expected one of auto, required, off"},
      {"volume_pools:\n- {class: a, root: /b, capacity: 1}\n- {class: a, root: /c, capacity: 1}\n",
       "a.yaml:3:4: volume_pools[1].class: duplicate pool of class a"},
      {"volume_pools:\n- {class: a, root: /b, capacity: 1}\n- {class: c, root: /b/c, capacity: 1}\n",
       "a.yaml:3:14: volume_pools[1].root: is, contains or lies in /b, the root of another pool"},
      {"volumes:\n- {name: a, path: /b}\n", "a.yaml:2:3: volumes[0].capacity: missing"},
      {"volumes:\n- {name: a, path: /b, capacity: 0}\n", "a.yaml:2:23: volumes[0].capacity: must be greater than 0"},
      {"volumes:\n- {name: a, path: /b, capacity: 1}\n- {name: a, path: /c, capacity: 1}\n",
       "a.yaml:3:4: volumes[1].name: duplicate volume a"},
      {"logs: {file_bytes: 1Ki}\n", "a.yaml:1:8: logs.file_bytes: must be 64Ki or more"},
      {"logs: {kept_pods: -1}\n", "a.yaml:1:8: logs.kept_pods: expected an integer from 0 to 10000, got -1"},
      {"logs: {kept_bytes: much}\n", "a.yaml:1:8: logs.kept_bytes: expected a quantity"},
      {"logs: {file_bytes: 1Mi, total_bytes: 512Ki}\n",
       "a.yaml:1:25: logs.total_bytes: must be 0 (no limit), or file_bytes or more, which is 1048576"},
      {"heartbeat_seconds: 0\n", "a.yaml:1:1: heartbeat_seconds: expected an integer from 1 to 3600, got 0"},
      {"node: N\n", "a.yaml:1:1: node: expected a name"},
      {"clients: []\n", "a.yaml:1:1: clients: unknown field"},
  };
  for (const Case& c : cases) {
    const Texts errors = reasons(parse_agent_config("a.yaml", c.yaml));
    ASSERT_EQ(errors.size(), 1u) << c.yaml;
    EXPECT_EQ(errors[0].substr(0, std::string_view(c.error).size()), c.error);
  }
}

TEST(CtlConfig, ReadsEveryKey) {
  const auto settings =
      parse_ctl_config("c.yaml", "broker: {host: h}\nfleet: f\ngateway: g\nidentity: anna\nnamespace: shop\n");
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->broker.host, "h");
  EXPECT_EQ(settings->fleet, "f");
  EXPECT_EQ(settings->gateway, "g");
  EXPECT_EQ(settings->identity, "anna");
  EXPECT_EQ(settings->namespace_, "shop");
  EXPECT_EQ(parse_ctl_config("c.yaml", "")->namespace_, "default");
  EXPECT_EQ(reasons(parse_ctl_config("c.yaml", "identity: a/b\n")).size(), 1u);
}

TEST(ConfigFile, IsReadCompletelyOrRefusedWithItsName) {
  const auto path = std::filesystem::temp_directory_path() / ("berth_config_" + std::to_string(::getpid()));
  std::ofstream(path) << "fleet: plant\n";
  EXPECT_EQ(*read_config_file(path.string()), "fleet: plant\n");
  EXPECT_LT(read_config_file(path.string(), 4 << 20)->capacity(), 64u << 10) << "memory for the largest was cleared";
  EXPECT_EQ(read_config_file(path.string(), 5).error().message(), path.string() + ": larger than 5 bytes");
  std::filesystem::remove(path);
  EXPECT_EQ(read_config_file(path.string()).error().message(),
            path.string() + ": cannot read file: No such file or directory");
  EXPECT_FALSE(read_config_file(std::filesystem::temp_directory_path().string()));
}

// The keys of the packaged file that are commented out, because they are the defaults.
std::string shown_defaults(const std::string& packaged) {
  std::string shown;
  bool within = false;
  std::istringstream lines(packaged);
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.starts_with("#node_limits:") || line.starts_with("#same_name:");
    within = begins || (within && line.starts_with("#  "));
    if (within) shown += line.substr(1) + "\n";
  }
  return shown;
}

TEST(PackagedConfiguration, ShowsTheDefaultsOfTheProgram) {
  const Result<std::string> packaged = read_config_file(BERTH_PACKAGED_CONFIG);
  ASSERT_TRUE(packaged) << packaged.error().message();
  EXPECT_TRUE(parse_gateway_config("berthd.yaml", *packaged));
  const std::string shown = shown_defaults(*packaged);
  NodeLimits other;  // so that every figure must be there
  other.cpu = other.memory = other.pods = Quantity(1);
  other.volumes = other.labels = other.slots = other.statuses = other.status_bytes = 1;
  other.incarnations_per_hour = other.takeovers_per_hour = 1;
  other.twin_quiet_ms = 1000;
  GatewaySettings settings;
  settings.node_limits = other;
  settings.same_name = SameName::ask;
  const Result<GatewaySettings> read = parse_gateway_config("berthd.yaml", shown, settings);
  ASSERT_TRUE(read) << read.error().message() << "\n" << shown;
  const NodeLimits& limits = read->node_limits;
  const NodeLimits defaults;
  EXPECT_EQ(limits.cpu, defaults.cpu);
  EXPECT_EQ(limits.memory, defaults.memory);
  EXPECT_EQ(limits.pods, defaults.pods);
  EXPECT_EQ(limits.volumes, defaults.volumes);
  EXPECT_EQ(limits.labels, defaults.labels);
  EXPECT_EQ(limits.slots, defaults.slots);
  EXPECT_EQ(limits.statuses, defaults.statuses);
  EXPECT_EQ(limits.status_bytes, defaults.status_bytes);
  EXPECT_EQ(limits.incarnations_per_hour, defaults.incarnations_per_hour);
  EXPECT_EQ(limits.takeovers_per_hour, defaults.takeovers_per_hour);
  EXPECT_EQ(limits.twin_quiet_ms, defaults.twin_quiet_ms);
  EXPECT_EQ(read->same_name, GatewaySettings().same_name);
}

}  // namespace
}  // namespace berth
