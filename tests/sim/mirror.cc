#include "tests/sim/mirror.h"

#include "core/api/config_objects.h"
#include "core/api/config_refs.h"
#include "core/objects/accepting.h"
#include "core/objects/made_pods.h"
#include "tests/sim/sim_device.h"

namespace berth::sim {

namespace {

// The status without members that the queue may change without publishing a new status, and without qosClass, which is
// for those who ask.
Json comparable(Json status) {
  for (std::string_view key : {"conditions", "message", "nominatedNodeName", "qosClass"}) status.erase(key);
  Json* scheduler = status.find("scheduler");
  const Json* phase = scheduler == nullptr ? nullptr : scheduler->find("phase");
  if (phase != nullptr && *phase == Json("bound")) {
    status.erase("scheduler");  // only included in answers of the API
  } else if (scheduler != nullptr) {
    scheduler->erase("queue");
    scheduler->erase("attempts");
  }
  return status;
}

bool is_leaving(const Gateway& gateway, Kind kind, const std::string& key) {
  if (kind == Kind::persistent_volume) return gateway.objects().volume(key)->metadata.deleting;
  return kind == Kind::persistent_volume_claim && gateway.objects().claim(key)->metadata.deleting;
}

Breach find_object_difference(const Gateway& gateway, const std::map<std::string, std::string>& retained,
                              std::set<std::string>& known) {
  const Topics topics(kFleet);
  for (const KindName& kind : kinds()) {
    if (kind.kind == Kind::secret) continue;  // none is mirrored
    for (const std::string& key : gateway.objects().keys(kind.kind)) {
      const PodEntry* pod = kind.kind == Kind::pod ? gateway.objects().pods().find(key) : nullptr;
      if (pod != nullptr && is_made_here(*pod->pod)) continue;  // its owner is mirrored
      const std::string topic = topics.desired(kind.kind, key);
      known.insert(topic);
      if (is_leaving(gateway, kind.kind, key)) continue;  // the tombstone stays retained until the object is removed
      const auto shown = retained.find(topic);
      if (shown == retained.end()) return topic + " is not retained";
      const Result<Json> json = Json::parse(shown->second);
      if (!json || *json != gateway.objects().manifest(kind.kind, key)) {
        return topic + " is retained as " + shown->second + ", but the gateway has " +
               gateway.objects().manifest(kind.kind, key).dump();
      }
    }
  }
  return {};
}

}  // namespace

Reader::Reader(SimEnvironment& world) : topics_(kFleet), client_(world.broker, "reader") { client_.set_handler(this); }

void Reader::on_link(bool up) {
  if (up) client_.subscribe(topics_.client("reader"), 1);
}

void Reader::ask_for_all() {
  statuses_.clear();
  for (const Kind kind : {Kind::pod, Kind::node, Kind::persistent_volume, Kind::persistent_volume_claim}) ask(kind, "");
}

void Reader::ask(Kind kind, const std::string& from) {
  Json request(Json::Object{{"op", Json("get")}, {"kind", Json(describe(kind).name)}});
  request.set("id", describe(kind).plural);
  if (!from.empty()) request.set("continue", from);
  Message message;
  message.topic = topics_.gateway_api(kGateway);
  message.payload = request.dump();
  message.response_topic = topics_.client("reader");
  client_.send(message);
}

void Reader::on_message(const Message& message) {
  const Result<Json> reply = Json::parse(message.payload);
  const Json* items = reply ? reply->find("items") : nullptr;
  const Json* id = reply ? reply->find("id") : nullptr;
  if (items == nullptr || id == nullptr) return;
  const Kind kind = find_kind(id->as_string())->kind;
  for (const Json& object : items->as_array()) {
    const Json& status = *object.find("status");
    // What has no object has no status of its own at the broker.
    if (status.string_at("phase") == "Orphan") continue;
    statuses_[{kind, key_of(kind, object)}] = status;
  }
  if (const Json* next = reply->find("continue")) ask(kind, next->as_string());
}

Breach find_mirror_difference(const Gateway& gateway, const std::map<std::string, std::string>& retained,
                              const Reader& reader) {
  const Topics topics(kFleet);
  std::set<std::string> known;
  if (Breach breach = find_object_difference(gateway, retained, known)) return breach;
  for (const auto& [named, status] : reader.statuses()) {
    const std::string topic = topics.status(named.first, named.second);
    known.insert(topic);
    const auto shown = retained.find(topic);
    if (shown == retained.end()) return topic + " is not retained";
    const Result<Json> json = Json::parse(shown->second);
    if (!json || comparable(*json) != comparable(status)) {
      return topic + " is retained as " + shown->second + ", but the gateway reports " + status.dump();
    }
  }
  for (const KindName& kind : kinds()) {
    for (const std::string& key : gateway.objects().keys(kind.kind)) {
      // An overlay of a node that has never connected has no status.
      if (kind.kind != Kind::node) known.insert(topics.status(kind.kind, key));
    }
  }
  for (const auto& [topic, payload] : retained) {
    const bool ours = topic.starts_with(topics.root() + "desired/") || topic.starts_with(topics.root() + "status/");
    if (ours && !known.contains(topic)) return topic + " is still retained: " + payload;
  }
  return {};
}

// Of pods whose device is asked for nothing: what the gateway has, the device has.
Breach find_config_difference(const Gateway& gateway, const std::string& node, const PodObjects* objects) {
  if (objects == nullptr) return {};
  for (const auto& [uid, binding] : gateway.bindings()) {
    if (binding.row.node != node || binding.row.phase != Phase::bound || binding.pod == nullptr) continue;
    for (const ConfigName& name : config_names_of(binding.pod->manifest().json())) {
      const std::string key = std::string(binding.pod->metadata.namespace_) + "/" + name.name;
      if (!gateway.objects().has(name.kind, key)) continue;
      const auto kind = name.kind == Kind::secret ? PodObjectKind::secret : PodObjectKind::config_map;
      const auto held = objects->find({std::string(uid), binding.row.epoch}, kind, name.name);
      const std::string what =
          std::string(describe(name.kind).name) + " " + key + " for " + std::string(uid) + " on " + node;
      if (held == nullptr) return what + " is not there";
      if (held->values != values_of(name.kind, gateway.objects().manifest(name.kind, key)))
        return what + " is another one";
    }
  }
  return {};
}

Breach find_kept_output_without_object(const Gateway& gateway, const std::string& node, const std::vector<Tag>& kept) {
  for (const Tag& tag : kept) {
    const PodEntry* entry = gateway.objects().pods().find_by_uid(tag.uid);
    const std::string what = "node " + node + " keeps output of " + tag.uid + "@" + to_text(tag.epoch);
    if (entry == nullptr) return what + ", which has no object";
    // The pod was placed there again: what it wrote before stays until the Release of that placement.
    const auto again = gateway.bindings().find(tag.uid);
    if (again != gateway.bindings().end() && again->second.row.node == node) continue;
    if (!entry->finished) return what + ", which has not finished";
  }
  return {};
}

Breach find_node_status_difference(const std::string& node, const NodeState& state,
                                   const std::map<std::string, std::string>& retained) {
  const Topics topics(kFleet);
  std::map<std::string, std::string> expected;  // uid by topic
  for (const auto& [uid, slot] : state.slots) {
    const Result<Json> pod = Json::parse(slot.pod);
    if (!pod) return "the manifest of " + uid + " on " + node + " cannot be read";
    expected[topics.node_pod(node, key_of(Kind::pod, *pod))] = uid;
  }
  const std::string own = topics.node_pod(node, {}) + "/";
  for (auto shown = retained.lower_bound(own); shown != retained.end() && shown->first.starts_with(own); ++shown) {
    const auto slot = expected.find(shown->first);
    if (slot == expected.end()) return shown->first + " is still retained, but no slot explains it";
    const Result<Json> status = Json::parse(shown->second);
    if (!status || status->string_at("uid") != slot->second) {
      return shown->first + " is retained as " + shown->second + ", but the slot is that of " + slot->second;
    }
    expected.erase(slot);
  }
  if (!expected.empty()) return expected.begin()->first + " is not retained";
  return {};
}

}  // namespace berth::sim
