#include "firmware-host/agent/containers/network_record.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/process_tree.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

std::string path_in(const std::string& directory) { return directory + "/" + NetworkRecord::kFile; }

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

std::int64_t number_at(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_integer() ? value.as_int() : 0;
}

}  // namespace

Status NetworkRecord::write(const std::string& directory) const {
  Json config = Json::object();
  Json list = Json::array();
  for (const Json& plugin : network.plugins) list.push_back(plugin);
  config.set("name", network.name).set("cniVersion", network.version).set("plugins", std::move(list));
  Json mapped = Json::array();
  for (const PortMapping& port : ports) {
    Json made = Json::object();
    made.set("hostPort", port.host_port).set("containerPort", port.container_port);
    mapped.push_back(made.set("protocol", port.protocol).set("hostIP", port.host_address));
  }
  Json record = Json::object();
  record.set("network", std::move(config)).set("directories", texts_json(plugins)).set("id", id);
  record.set("arguments", arguments).set("ports", std::move(mapped)).set("result", result);
  const std::error_code error = replace_file(directory, kFile, record.dump(), true);
  return error ? Status::error("cannot write " + path_in(directory) + ": " + error.message()) : Status::ok();
}

std::optional<NetworkRecord> NetworkRecord::read(const std::string& directory) {
  std::ifstream in(path_in(directory), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const Result<Json> json = Json::parse(text);
  if (!json) return std::nullopt;
  NetworkRecord record;
  const Json& config = member(*json, "network");
  record.network.name = config.string_at("name");
  record.network.version = config.string_at("cniVersion");
  for (const Json& plugin : list_of(config, "plugins")) record.network.plugins.push_back(plugin);
  for (const Json& each : list_of(*json, "directories")) {
    if (each.is_string()) record.plugins.push_back(each.as_string());
  }
  record.id = json->string_at("id");
  record.arguments = json->string_at("arguments");
  for (const Json& port : list_of(*json, "ports")) {
    record.ports.push_back({number_at(port, "hostPort"), number_at(port, "containerPort"), port.string_at("protocol"),
                            port.string_at("hostIP")});
  }
  record.result = member(*json, "result");
  return record;
}

void NetworkRecord::discard(const std::string& directory) { unlink(path_in(directory).c_str()); }

void remove_network_of(const std::string& directory) {
  constexpr Millis kLongestMs = 20'000;
  const std::optional<NetworkRecord> record = NetworkRecord::read(directory);
  if (!record) return;
  CniRun run(record->network, record->plugins, record->pod({}));
  const RealClock clock;
  const Millis give_up_at = clock.now() + kLongestMs;
  for (run.remove(record->result); !run.is_done() && clock.now() < give_up_at;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended > 0) {
      run.take_exit(ended, status);
    } else {
      pause_for(kSweepPause);
    }
  }
  run.kill();
  if (run.is_done() && run.error().empty()) NetworkRecord::discard(directory);
}

}  // namespace berth
