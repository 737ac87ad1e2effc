#include "firmware-host/agent/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/api/names.h"
#include "firmware-host/agent/node_allocatable.h"

namespace berth {

namespace {

constexpr std::int64_t kPodsDefault = 110;  // the kubelet's maxPods

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string default_state_directory() {
  if (geteuid() == 0) return "/var/lib/berth-agent";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::string(state) + "/berth-agent";
  }
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "/tmp") + "/.local/state/berth-agent";
}

// A directory that volumes are, or lie in.
struct Place {
  std::string field;  // that names it
  std::string path;
  std::string resolved;  // where it really is: an absolute path without links, "." and ".." as far as it exists
};

// What cannot be looked at is compared by its name.
std::string resolved(const std::string& path) {
  std::error_code error;
  std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  if (error) real = path;
  std::string text = real.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool contains(const std::string& outer, const std::string& inner) {
  return inner.starts_with(outer.ends_with('/') ? outer : outer + "/");
}

std::vector<Place> places_of(const AgentConfig& agent) {
  std::vector<Place> places;
  for (const LocalVolume& volume : agent.volumes) {
    places.push_back({"volume '" + volume.name + "' (volumes, --volume)", volume.path, resolved(volume.path)});
  }
  for (std::size_t i = 0; i < agent.volume_pools.size(); ++i) {
    const std::string& root = agent.volume_pools[i].root;
    places.push_back({"volume_pools[" + std::to_string(i) + "].root", root, resolved(root)});
  }
  return places;
}

// One directory would hold the data of two claims. In a directory within another's, too, whoever empties the outer one
// removes the data of the inner: a mount in between does not keep a pod out, and what lies in a pool without a record
// is offered to the operator for removal (MadeVolumes).
Status check_places(const std::vector<Place>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Place& one = places[i];
      const Place& other = places[j];
      const bool is_same = one.resolved == other.resolved;
      if (!is_same && !contains(one.resolved, other.resolved) && !contains(other.resolved, one.resolved)) continue;
      const std::string relation = is_same ? "is" : contains(one.resolved, other.resolved) ? "contains" : "lies in";
      return Status::error(one.field + ": its directory " + one.path + " " + relation + " " + other.path +
                           ", that of " + other.field + "; give each volume and pool a directory of its own");
    }
  }
  return Status::ok();
}

Status wrong(const std::string& what, const std::string& text, const std::string& form) {
  return Status::error(what + " '" + text + "': expected " + form);
}

}  // namespace

AgentSettings default_settings() {
  AgentSettings settings;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  settings.agent.node = lower(name.data());
  settings.agent.fleet = "default";
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  settings.agent.capacity["cpu"] = Quantity(sysconf(_SC_NPROCESSORS_ONLN));
  settings.agent.capacity["memory"] = Quantity(std::int64_t{sysconf(_SC_PHYS_PAGES)} * page);
  settings.agent.capacity["pods"] = Quantity(kPodsDefault);
  settings.state_directory = default_state_directory();
  return settings;
}

Status check_settings(const AgentSettings& settings) {
  if (!is_valid_name(settings.agent.fleet)) {
    return Status::error("fleet '" + settings.agent.fleet +
                         "' (--fleet): use lower-case letters, digits, '-' and '.' only");
  }
  if (!is_valid_name(settings.agent.node)) {
    return Status::error("node '" + settings.agent.node +
                         "' (--node): use lower-case letters, digits, '-' and '.' only");
  }
  if (!settings.state_directory.starts_with('/')) {
    return Status::error("state directory '" + settings.state_directory + "' (--state-dir): must be an absolute path");
  }
  if (settings.broker.host.empty()) return Status::error("broker (--broker): missing host");
  if (settings.broker.cert_file.empty() != settings.broker.key_file.empty()) {
    return Status::error("client certificate: set --cert-file and --key-file together");
  }
  if (Status reserved = check_reserved(settings.agent.capacity, settings.reserved); !reserved.is_success()) {
    return reserved;
  }
  return check_places(places_of(settings.agent));
}

Result<std::pair<std::string, std::string>> parse_label(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return wrong("label", text, "key=value");
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

Result<Taint> parse_taint(const std::string& text) {
  const std::string form = "key=value:Effect or key:Effect with Effect one of NoSchedule, PreferNoSchedule, NoExecute";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong("taint", text, form);
  const std::string left = text.substr(0, colon);
  const std::string effect = text.substr(colon + 1);
  const std::size_t equals = left.find('=');
  Taint taint;
  taint.key = left.substr(0, equals);
  if (equals != std::string::npos) taint.value = left.substr(equals + 1);
  for (const TaintEffect known : {TaintEffect::no_schedule, TaintEffect::prefer_no_schedule, TaintEffect::no_execute}) {
    if (to_string(known) != effect || taint.key.empty()) continue;
    taint.effect = known;
    return taint;
  }
  return wrong("taint", text, form);
}

Result<std::pair<std::string, Quantity>> parse_capacity(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return wrong("capacity", text, "resource=quantity, for example memory=512Mi");
  Result<Quantity> quantity = Quantity::parse(text.substr(equals + 1));
  if (!quantity) return Status::error("capacity '" + text + "': " + quantity.error().message());
  return std::pair{text.substr(0, equals), *quantity};
}

Result<LocalVolume> parse_volume(const std::string& text) {
  const std::string form = "name=path:capacity or name=path:capacity:class, for example data=/srv/data:10Gi";
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return wrong("volume", text, form);
  LocalVolume volume;
  volume.name = text.substr(0, equals);
  std::string rest = text.substr(equals + 1);
  // A path may contain colons: capacity and class are taken from the end.
  std::vector<std::string> ends;
  for (int i = 0; i < 2; ++i) {
    const std::size_t colon = rest.rfind(':');
    if (colon == std::string::npos) break;
    ends.insert(ends.begin(), rest.substr(colon + 1));
    rest.resize(colon);
    if (Quantity::parse(ends.front())) break;
  }
  if (ends.empty() || !Quantity::parse(ends.front()) || !rest.starts_with('/') || !is_valid_name(volume.name)) {
    return wrong("volume", text, form);
  }
  volume.path = rest;
  volume.capacity = ends.front();
  volume.storage_class = ends.size() > 1 ? ends.back() : "local";
  return volume;
}

}  // namespace berth
