#include "firmware-host/agent/cni/cni_config.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/json/members.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPortMappings = "portMappings";
constexpr std::size_t kMostBytes = 64 * 1024;

bool is_config(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kEndings{".conflist", ".conf", ".json"};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

bool has_capability(const Json& plugin, const char* name) {
  const Json& capability = member(member(plugin, "capabilities"), name);
  return capability.is_bool() && capability.as_bool();
}

// A plugin is a file in one of the directories of plugins: its type must not lead elsewhere.
bool is_plain_name(const std::string& type) { return !type.empty() && type.find('/') == std::string::npos; }

Result<CniNetwork> to_network(const Json& config, const std::string& file) {
  CniNetwork network{config.string_at("name"), config.string_at("cniVersion"), {}};
  if (network.name.empty()) return Status::error(file + ": name: missing");
  if (network.version.empty()) network.version = "0.1.0";  // specification 1.0.0, section 1
  const Json& plugins = member(config, "plugins");
  if (plugins.is_array()) {
    network.plugins = plugins.as_array();
  } else {
    network.plugins = {config};  // a file of one plugin
  }
  if (network.plugins.empty()) return Status::error(file + ": plugins: needs at least one");
  for (const Json& plugin : network.plugins) {
    if (!is_plain_name(plugin.string_at("type")))
      return Status::error(file + ": plugins: each needs a type, its program's name");
  }
  return network;
}

}  // namespace

bool CniNetwork::maps_ports() const {
  return std::any_of(plugins.begin(), plugins.end(),
                     [](const Json& plugin) { return has_capability(plugin, kPortMappings); });
}

Result<CniNetwork> find_network(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (is_config(at->path())) files.push_back(at->path().string());
  }
  if (files.empty()) {
    return Status::error("no network for pods: " + directory +
                         " has no CNI configuration; install one, or use hostNetwork: true");
  }
  const std::string file = *std::min_element(files.begin(), files.end());
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (text.size() > kMostBytes) return Status::error(file + ": larger than 64 KiB");
  const Result<Json> config = Json::parse(text);
  if (!config) return Status::error(file + ": " + config.error().message());
  return to_network(*config, file);
}

std::string input_of(const CniNetwork& network, std::size_t plugin, const std::vector<PortMapping>& ports,
                     const Json& previous) {
  Json input = network.plugins[plugin];
  input.set("cniVersion", network.version).set("name", network.name);
  if (has_capability(input, kPortMappings) && !ports.empty()) {
    Json list = Json::array();
    for (const PortMapping& port : ports) {
      Json made = Json::object();
      made.set("hostPort", port.host_port).set("containerPort", port.container_port).set("protocol", port.protocol);
      if (!port.host_address.empty()) made.set("hostIP", port.host_address);
      list.push_back(std::move(made));
    }
    input.set("runtimeConfig", Json::object().set(kPortMappings, std::move(list)));
  }
  input.erase("capabilities");
  if (!previous.is_null()) input.set("prevResult", previous);
  return input.dump();
}

}  // namespace berth
