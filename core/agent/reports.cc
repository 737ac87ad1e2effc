#include "core/agent/reports.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/agent/identity.h"
#include "core/api/timestamp.h"
#include "core/handshake/fields.h"
#include "core/handshake/protocol.h"
#include "core/json/json.h"

namespace berth {

namespace {

Json taints_json(const std::vector<Taint>& taints) {
  Json list = Json::array();
  for (const Taint& taint : taints) {
    Json json = Json::object();
    json.set("key", taint.key);
    json.set("value", taint.value);
    json.set("effect", to_string(taint.effect));
    list.push_back(std::move(json));
  }
  return list;
}

Json volumes_json(const std::vector<LocalVolume>& volumes) {
  Json list = Json::array();
  for (const LocalVolume& volume : volumes) {
    Json json = Json::object();
    json.set("name", volume.name);
    json.set("path", volume.path);
    json.set("capacity", volume.capacity);
    json.set("storageClass", volume.storage_class);
    list.push_back(std::move(json));
  }
  return list;
}

Json pools_json(const std::vector<VolumePool>& pools) {
  Json list = Json::array();
  for (const VolumePool& pool : pools) {
    Json json = Json::object();
    json.set("class", pool.storage_class);
    json.set("root", pool.root);
    json.set("capacity", pool.capacity.to_text());
    json.set("limited", pool.is_limited);
    list.push_back(std::move(json));
  }
  return list;
}

Json names_json(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(name);
  return list;
}

Json images_json(const std::vector<ContainerImage>& images) {
  Json list = Json::array();
  for (const ContainerImage& image : images) {
    list.push_back(Json::object().set("names", names_json(image.names)).set("sizeBytes", image.size_bytes));
  }
  return list;
}

Json pressures_json(const std::vector<NodePressure>& pressures) {
  Json list = Json::array();
  for (const NodePressure& pressure : pressures) {
    Json json = Json::object();
    json.set("type", pressure.type);
    json.set("status", "True");
    json.set("lastTransitionTime", to_timestamp(std::max<Millis>(pressure.since, 0)));
    list.push_back(std::move(json));
  }
  return list;
}

Json session_json(const AgentSession& session) {
  Json json = Json::object();
  json.set("incarnation", session.incarnation);
  json.set("bootId", session.boot_id);
  json.set("session", std::to_string(session.session));
  return json;
}

}  // namespace

std::string node_state_payload(const AgentSession& session, std::uint64_t sequence, const AgentConfig& config,
                               const StateNotes& notes, const std::string& address) {
  Json json = session_json(session);
  json.set("sequence", std::to_string(sequence));
  json.set("heartbeatMs", std::to_string(config.heartbeat_ms));
  json.set("protocol", to_text(kProtocol));
  if (!notes.lost_before.empty()) json.set("storeLost", notes.lost_before);
  json.set("refusals", notes.refusals);
  const std::string machine = machine_name(config.machine_id, config.hardware_serial);
  for (const auto& [key, value] :
       {std::pair{"machine", &machine}, {"serial", &config.hardware_serial}, {"address", &address}}) {
    if (!value->empty()) json.set(key, *value);
  }
  Json labels = Json::object();
  for (const auto& [key, value] : config.labels) labels.set(key, value);
  Json allocatable = Json::object();
  for (const auto& [name, quantity] : config.capacity) allocatable.set(name, quantity.to_text());
  json.set("labels", std::move(labels));
  json.set("taints", taints_json(config.taints));
  json.set("allocatable", std::move(allocatable));
  if (!notes.pressures.empty()) json.set("conditions", pressures_json(notes.pressures));
  json.set("volumes", volumes_json(config.volumes));
  if (!config.volume_pools.empty()) json.set("volumePools", pools_json(config.volume_pools));
  if (!notes.images.empty()) json.set("images", images_json(notes.images));
  if (config.features) json.set("features", names_json(*config.features));
  if (!config.container_runtime_version.empty()) {
    json.set("nodeInfo", Json::object().set("containerRuntimeVersion", config.container_runtime_version));
  }
  if (!config.streams.empty()) json.set("streams", names_json(config.streams));
  const auto life = config.certificates == nullptr ? std::nullopt : config.certificates->life();
  if (life) json.set("certificateExpires", std::to_string(life->end));
  if (!notes.certificate_problem.empty()) json.set("certificateProblem", notes.certificate_problem);
  return json.dump();
}

std::string presence_payload(const AgentSession& session, bool online) {
  Json json = session_json(session);
  json.set("online", online);
  if (!session.at.is_zero()) json.set("at", to_text(session.at));
  return json.dump();
}

std::string heartbeat_payload(const AgentSession& session, std::uint64_t sequence, bool is_to_be_answered) {
  Json json = Json::object();
  json.set("incarnation", session.incarnation);
  json.set("sequence", std::to_string(sequence));
  if (!session.at.is_zero()) json.set("at", to_text(session.at));
  if (is_to_be_answered) json.set("answer", true);
  return json.dump();
}

std::string pod_status_payload(const AgentSession& session, const std::string& uid, const Slot& slot,
                               const std::string& status) {
  Json json = Json::object();
  if (const Result<Json> observed = Json::parse(status, kRecordLimits); observed && observed->is_object()) {
    json = *observed;
  } else {
    json.set("phase", "Pending");
  }
  json.set("uid", uid);
  json.set("epoch", to_text(slot.epoch));
  json.set("incarnation", session.incarnation);
  json.set("slot", to_string(slot.state));
  return json.dump();
}

}  // namespace berth
