#include "tests/sim/orders.h"

#include "tests/sim/sim_device.h"

namespace berth::sim {

namespace {

constexpr int kRounds = 4;
// More than a round trip to the gateway, and more than it takes to connect and read all retained messages.
constexpr Millis kRoundTripMs = 60, kReconnectWaitMs = 6'000;
constexpr char kVersionAnnotation[] = "sim/version";

}  // namespace

Orders::Orders(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed)
    : world_(world),
      gateway_(gateway),
      topics_(kFleet),
      client_(world.broker, "orderer"),
      random_(seed ^ 0x4f52444552),
      going_back_(seed ^ 0x4241434b) {}

Breach Orders::find_undone(const std::function<bool(Millis)>& run) {
  for (int number = 0; number < kRounds; ++number) {
    const Round round = draw(number);
    has_gone_back_ = false;
    if (Breach breach = play(round, run)) return breach;
  }
  return {};
}

Orders::Round Orders::draw(int number) {
  Round round;
  const std::uint64_t kind = random_.below(4);
  round.kind = kind == 0 ? Kind::node : kind == 1 ? Kind::priority_class : Kind::pod;
  round.name = round.kind == Kind::node ? "n0" : "order-" + std::to_string(number);
  round.key = (round.kind == Kind::pod ? "default/" : "") + round.name;
  if (random_.chance(1, 2)) round.uid = "order-" + std::to_string(number);
  round.deletes = random_.chance(1, 3);
  round.by_api = random_.chance(2, 3);
  round.recreates = round.kind == Kind::pod && !round.deletes && round.by_api && random_.chance(1, 3);
  round.is_contradicted = random_.chance(1, 3);
  round.goes_back = going_back_.chance(1, 2);
  return round;
}

Json Orders::manifest(const Round& round, int version, const std::string& uid) const {
  Json metadata(Json::Object{{"name", Json(round.name)}});
  if (round.kind == Kind::pod) metadata.set("namespace", "default");
  if (round.kind == Kind::pod && !uid.empty()) metadata.set("uid", uid);
  metadata.set("annotations", Json(Json::Object{{kVersionAnnotation, Json(std::to_string(version))}}));
  Json object = Json::object();
  object.set("apiVersion", describe(round.kind).api_version).set("kind", describe(round.kind).name);
  object.set("metadata", std::move(metadata));
  if (round.kind == Kind::priority_class) return object.set("value", 7);
  Json spec = Json::object();
  if (round.kind == Kind::pod) {
    Json container(Json::Object{{"name", Json("main")}, {"image", Json("/bin/sim")}});
    spec.set("containers", Json(Json::Array{std::move(container)}));
    spec.set("schedulingGates", Json(Json::Array{Json(Json::Object{{"name", Json("sim/never")}})}));
  }
  return object.set("spec", std::move(spec));
}

void Orders::publish(const Round& round, const Json& payload, bool retain) {
  Message message;
  message.topic = topics_.desired(round.kind, round.key);
  message.payload = payload.dump();
  message.retain = retain;
  client_.send(message);
}

// Sends the second version, which the broker does not retain.
void Orders::send_second(const Round& round) {
  world_.note("orderer", std::string(round.deletes ? "deletes " : "updates ") + round.key +
                             (round.by_api ? " by the api" : " by a word that is not retained"));
  if (!round.by_api) {
    const Json tombstone(Json::Object{{"deleted", Json(true)}});
    return publish(round, round.deletes ? tombstone : manifest(round, 2, round.uid), false);
  }
  Json request(Json::Object{{"op", Json(round.deletes ? "delete" : "apply")}});
  if (round.deletes) {
    request.set("kind", describe(round.kind).name).set("name", round.name);
  } else {
    if (round.recreates) request.set("recreate", true);
    request.set("object", manifest(round, 2, round.recreates ? round.name + "-anew" : round.uid));
  }
  Message message;
  message.topic = topics_.gateway_api(kGateway);
  message.payload = request.dump();
  message.response_topic = topics_.client("orderer");
  client_.send(message);
}

// Messages in transit from the gateway are lost, and it is disconnected for a while.
void Orders::cut_off() {
  if (random_.chance(1, 2)) {
    gateway_.crash("killed");
  } else {
    gateway_.lose_link(100);
  }
}

Breach Orders::play(const Round& round, const std::function<bool(Millis)>& run) {
  world_.note("orderer", "says " + round.key + " for the first time");
  // When the gateway is muted: before its mirror of the first version, of the second one, or later.
  const std::uint64_t mirrors = random_.below(3);
  if (mirrors == 0) world_.network.mute(gateway_.name());
  publish(round, manifest(round, 1, round.uid), true);
  const Millis before = kRoundTripMs + (random_.chance(1, 2) ? 0 : static_cast<Millis>(random_.below(2500)));
  if (!run(before)) return {};
  if (held(round) != 1) return "the gateway did not accept the first version of " + round.key;
  LoopbackBroker::RetainedSet first = world_.broker.retained_set();
  if (mirrors == 1) world_.network.mute(gateway_.name());
  send_second(round);
  if (!run(kRoundTripMs + static_cast<Millis>(random_.below(40)))) return {};
  world_.network.mute(gateway_.name());
  const int second = round.deletes ? 0 : 2;
  if (held(round) != second) return "the gateway did not accept the second version of " + round.key;
  if (!run(static_cast<Millis>(random_.below(1500)))) return {};
  cut_off();
  if (world_.sabotage == Sabotage::order) publish(round, manifest(round, 4, ""), true);
  if (round.is_contradicted)
    publish(round, manifest(round, 3, round.deletes || round.recreates ? "" : round.uid), true);
  if (random_.chance(1, 3)) {  // it receives from the broker, but nothing it sends arrives
    if (!run(static_cast<Millis>(random_.below(1000)))) return {};
    cut_off();
  }
  world_.network.mute("");
  if (!run(kReconnectWaitMs)) return {};
  ++world_.counts.faults["order cut off"];
  const int expected = round.is_contradicted ? 3 : second;
  if (Breach breach = find_difference(round, expected); breach || !round.goes_back) return breach;
  return go_back(round, std::move(first), expected, run);
}

// The gateway may have been told that the broker has replaced the first version, or not yet; and it may restart as
// well.
Breach Orders::go_back(const Round& round, LoopbackBroker::RetainedSet retained, int expected,
                       const std::function<bool(Millis)>& run) {
  if (!run(static_cast<Millis>(going_back_.below(3'000)))) return {};
  world_.note("broker", "restarts; its retained set goes back");
  ++world_.counts.faults["broker goes back"];
  world_.broker.restart(100, std::move(retained));
  if (going_back_.chance(1, 3)) gateway_.crash("killed");
  if (!run(kReconnectWaitMs)) return {};
  has_gone_back_ = true;
  return find_difference(round, expected);
}

int Orders::held(const Round& round) const {
  if (gateway_.gateway() == nullptr) return 0;
  const Json manifest = gateway_.gateway()->objects().manifest(round.kind, round.key);
  const Json* metadata = manifest.find("metadata");
  const Json* annotations = metadata == nullptr ? nullptr : metadata->find("annotations");
  const Json* version = annotations == nullptr ? nullptr : annotations->find(kVersionAnnotation);
  return version == nullptr ? 0 : std::stoi(version->as_string());
}

Breach Orders::find_difference(const Round& round, int expected) const {
  if (gateway_.gateway() == nullptr) return "there is no gateway";
  if (held(round) != expected) {
    return "expected version " + std::to_string(expected) + " of " + round.key + ", the gateway holds " +
           std::to_string(held(round)) + " (0: none)";
  }
  const auto retained = world_.broker.retained();
  const auto shown = retained.find(topics_.desired(round.kind, round.key));
  const std::optional<std::string> text = gateway_.gateway()->objects().text(round.kind, round.key);
  if (shown == retained.end() ? text.has_value() : shown->second != text) {
    return "the broker retains another version of " + round.key + " than the gateway holds";
  }
  return {};
}

}  // namespace berth::sim
