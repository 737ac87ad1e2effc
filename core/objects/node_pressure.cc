#include "core/objects/node_pressure.h"

#include <array>
#include <string>
#include <utility>

#include "core/api/timestamp.h"

namespace berth {

namespace {

struct Pressure {
  std::string_view type, taint, reason, message, reason_without, message_without;
};

constexpr std::array<Pressure, 3> kPressures{{
    {"MemoryPressure", "node.kubernetes.io/memory-pressure", "KubeletHasInsufficientMemory",
     "kubelet has insufficient memory available", "KubeletHasSufficientMemory",
     "kubelet has sufficient memory available"},
    {"DiskPressure", "node.kubernetes.io/disk-pressure", "KubeletHasDiskPressure", "kubelet has disk pressure",
     "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "node.kubernetes.io/pid-pressure", "KubeletHasInsufficientPID",
     "kubelet has insufficient PID available", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
}};

std::string text_at(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

const Json* find_type(const Json* list, std::string_view type) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& each : list->as_array()) {
    if (each.is_object() && text_at(each, "type") == type) return &each;
  }
  return nullptr;
}

}  // namespace

Json pressures_of(const Json* conditions) {
  Json held = Json::array();
  for (const Pressure& pressure : kPressures) {
    const Json* said = find_type(conditions, pressure.type);
    if (said == nullptr || text_at(*said, "status") != "True") continue;
    Json one = Json::object().set("type", pressure.type);
    const std::string since = text_at(*said, "lastTransitionTime");
    if (parse_timestamp(since)) one.set("lastTransitionTime", since);
    held.push_back(std::move(one));
  }
  return held.as_array().empty() ? Json() : held;
}

std::vector<std::string_view> pressure_taints(const Json* pressures) {
  std::vector<std::string_view> keys;
  for (const Pressure& pressure : kPressures) {
    if (find_type(pressures, pressure.type) != nullptr) keys.push_back(pressure.taint);
  }
  return keys;
}

Json::Array pressure_conditions(const Json* pressures) {
  Json::Array conditions;
  for (const Pressure& pressure : kPressures) {
    const Json* held = find_type(pressures, pressure.type);
    const bool holds = held != nullptr;
    Json one = Json::object();
    one.set("type", pressure.type).set("status", holds ? "True" : "False");
    one.set("reason", holds ? pressure.reason : pressure.reason_without);
    one.set("message", holds ? pressure.message : pressure.message_without);
    const std::string since = holds ? text_at(*held, "lastTransitionTime") : std::string();
    if (!since.empty()) one.set("lastTransitionTime", since);
    conditions.push_back(std::move(one));
  }
  return conditions;
}

}  // namespace berth
