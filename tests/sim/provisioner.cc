#include "tests/sim/provisioner.h"

#include "tests/sim/sim_device.h"

namespace berth::sim {

namespace {

constexpr char kSelectedNode[] = "volume.kubernetes.io/selected-node";

const Json* at(const Json* json, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) json = json == nullptr ? nullptr : json->find(key);
  return json;
}

std::string text_at(const Json& json, std::initializer_list<std::string_view> path) {
  const Json* found = at(&json, path);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

}  // namespace

std::string made_path(std::size_t claim) { return "/simulated/raw" + std::to_string(claim); }

Provisioner::Provisioner(SimEnvironment& world)
    : world_(world), topics_(kFleet), client_(world.broker, "provisioner", world.persistent_sessions) {
  client_.set_handler(this);
}

void Provisioner::on_link(bool up) {
  if (!up) return;
  client_.subscribe(topics_.root() + "desired/persistentvolumeclaims/#", 1);
  client_.subscribe(topics_.root() + "desired/persistentvolumes/#", 1);
}

void Provisioner::publish(const std::string& topic, const Json& payload) {
  Message message;
  message.topic = topic;
  message.payload = payload.dump();
  message.retain = true;
  client_.send(message);
}

void Provisioner::on_message(const Message& message) {
  const std::vector<std::string_view> levels = topics_.split(message.topic);
  if (levels[1] == "persistentvolumeclaims") {
    return on_claim(std::string(levels[2]) + "/" + std::string(levels[3]), message.payload);
  }
  // Reclaim policy Delete: a volume is removed with its data when its claim is deleted.
  const Result<Json> volume = Json::parse(message.payload);
  if (!volume || text_at(*volume, {"spec", "storageClassName"}) != kMadeClass) return;
  if (text_at(*volume, {"status", "phase"}) != "Released") return;
  world_.note("provisioner", "removes volume " + std::string(levels[2]));
  volumes_.erase(std::string(levels[2]));
  publish(message.topic, Json(Json::Object{{"deleted", Json(true)}, {"uid", *at(&*volume, {"metadata", "uid"})}}));
}

void Provisioner::on_claim(const std::string& key, const std::string& payload) {
  last_payload_[key] = payload;
  const Result<Json> claim = Json::parse(payload);
  if (!claim || text_at(*claim, {"spec", "storageClassName"}) != kMadeClass) return;
  if (!text_at(*claim, {"spec", "volumeName"}).empty()) return;
  if (text_at(*claim, {"metadata", "annotations", kSelectedNode}).empty()) return;
  world_.timers.at(world_.clock.now() + world_.pick(1, world_.chance(20) ? 8000 : 300), [this, key, payload] {
    if (last_payload_[key] == payload) answer(key, *Json::parse(payload));
  });
}

void Provisioner::answer(const std::string& key, const Json& claim) {
  const std::string node = text_at(claim, {"metadata", "annotations", kSelectedNode});
  if (!world_.chance(20)) return make(key, node);
  world_.note("provisioner", "gives up on claim " + key + " for " + node);
  Json without = claim;
  without.find("metadata")->find("annotations")->erase(kSelectedNode);
  publish(topics_.desired(Kind::persistent_volume_claim, key), without);
}

void Provisioner::make(const std::string& key, const std::string& node) {
  const std::string claim = key.substr(key.find('/') + 1);
  const std::string name = node + "-made-" + claim + "-" + std::to_string(++made_);
  world_.note("provisioner", "makes volume " + name + " for claim " + key);
  Json expression = Json::object();
  expression.set("key", "kubernetes.io/hostname").set("operator", "In").set("values", Json(Json::Array{Json(node)}));
  Json term(Json::Object{{"matchExpressions", Json(Json::Array{std::move(expression)})}});
  Json required(Json::Object{{"nodeSelectorTerms", Json(Json::Array{std::move(term)})}});
  Json spec = Json::object();
  spec.set("capacity", Json(Json::Object{{"storage", Json("10Mi")}}));
  spec.set("accessModes", Json(Json::Array{Json("ReadWriteOnce")}));
  spec.set("persistentVolumeReclaimPolicy", "Delete").set("storageClassName", kMadeClass);
  spec.set("local", Json(Json::Object{{"path", Json("/simulated/raw" + claim.substr(1))}}));
  spec.set("nodeAffinity", Json(Json::Object{{"required", std::move(required)}}));
  spec.set("claimRef", Json(Json::Object{{"namespace", Json("default")}, {"name", Json(claim)}}));
  Json volume = Json::object();
  volume.set("apiVersion", "v1").set("kind", "PersistentVolume");
  volume.set("metadata", Json(Json::Object{{"name", Json(name)}})).set("spec", std::move(spec));
  publish(topics_.desired(Kind::persistent_volume, name), volumes_[name] = std::move(volume));
}

void Provisioner::republish_all() {
  for (const auto& [name, volume] : volumes_) publish(topics_.desired(Kind::persistent_volume, name), volume);
}

}  // namespace berth::sim
