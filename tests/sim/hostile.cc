#include "tests/sim/hostile.h"

#include <iterator>

#include "core/handshake/topics.h"
#include "tests/sim/sim_device.h"

namespace berth::sim {

namespace {

// Mostly names that exist: a lie about unknown names is rejected by the first check.
struct Names {
  std::string uid = "u1", incarnation = "lie", pod = "default/p0";
  Epoch epoch{1, 1};
};

Names draw_names(SimEnvironment& world) {
  Random& random = world.random;
  Names names;
  const auto& rows = world.witness.gateway().rows;
  if (!rows.empty()) {
    const Row& row = std::next(rows.begin(), static_cast<std::ptrdiff_t>(random.below(rows.size())))->second;
    names = {row.uid, row.incarnation, row.pod, row.epoch};
  }
  if (random.chance(1, 4)) names.uid = "u" + std::to_string(random.below(60));
  if (random.chance(1, 4)) names.epoch.counter += random.below(20);
  const auto& devices = world.witness.devices();
  const DeviceView& device = *devices[random.below(devices.size())];
  if (random.chance(1, 2) && !device.durable.state.incarnation.empty()) {
    names.incarnation = device.durable.state.incarnation;
  }
  return names;
}

// The terms that it names, and what it passes off as a proof.
void obey_another(SimEnvironment& world, Answer& answer) {
  Random& random = world.random;
  GatewayId& id = answer.gateway_id;
  if (random.chance(1, 2)) id.store_id = "lie";
  switch (random.below(4)) {
    case 0: id.term += random.below(3); break;
    case 1: id.term += random.below(1'000'000); break;
    case 2: id.term = (std::uint64_t{1} << 61) + random.below(1'000'000); break;
    default: id.term = (std::uint64_t{1} << 62) + random.below(2); break;
  }
  const auto& devices = world.witness.devices();
  answer.proof = world.witness.proof_given_to(devices[random.below(devices.size())]->name);
  if (answer.proof.empty() || random.chance(1, 4)) return;
  ++world.counts.faults["forged proof"];
  // The code of another term.
  if (random.chance(1, 2)) answer.proof = std::to_string(id.term) + answer.proof.substr(answer.proof.find('.'));
}

// Of any name, or what is no signing request at all: it gets a refusal at most (N10).
void ask_for_certificate(SimEnvironment& world, Answer& answer) {
  ++world.counts.faults["lie about a renewal"];
  answer.type = AnswerType::renew;
  const std::string body = answer.list_id % 16 == 0 ? "MQ==" : "";
  answer.certificate_request = "-----BEGIN CERTIFICATE REQUEST-----\n" + body + "\n-----END CERTIFICATE REQUEST-----\n";
}

Answer lying_answer(SimEnvironment& world, const std::string& node) {
  constexpr AnswerType kTypes[] = {AnswerType::pre_bound, AnswerType::bound, AnswerType::released,
                                   AnswerType::rejected,  AnswerType::stale, AnswerType::superseded,
                                   AnswerType::hello,     AnswerType::slots};
  Random& random = world.random;
  const Names names = draw_names(world);
  Answer answer(kTypes[random.below(std::size(kTypes))]);
  answer.node = node;
  answer.incarnation = names.incarnation;
  answer.gateway_id = world.witness.gateway().id;
  if (answer.type == AnswerType::superseded) obey_another(world, answer);
  answer.uid = names.uid;
  answer.epoch = answer.high = names.epoch;
  answer.to_incarnation = draw_names(world).incarnation;
  answer.reason = "lie";
  answer.pages = 1 + static_cast<std::uint32_t>(random.below(3));
  answer.page = static_cast<std::uint32_t>(random.below(answer.pages));
  answer.list_id = random.next();
  if (answer.type == AnswerType::slots) {
    answer.slots.push_back({names.uid, names.epoch, SlotState::running, "{}", {}});
  }
  if (answer.list_id % 16 < 2) ask_for_certificate(world, answer);
  if (random.chance(1, 4)) answer.via = "lie";  // N12: a name that nobody has said
  return answer;
}

// A list of a few items or of one more than allowed; some items are not valid answers.
std::string lying_list(SimEnvironment& world, const std::string& node) {
  std::string items;
  for (std::uint64_t more = world.random.chance(1, 8) ? kMaxItems + 1 : 2 + world.random.below(6); more > 0; --more) {
    const std::string item = world.random.chance(1, 4) ? R"({"type":"Bound"})" : encode(lying_answer(world, node));
    items += (items.empty() ? "" : ",") + item;
  }
  return R"({"items":[)" + items + "]}";
}

Json identity(SimEnvironment& world) {
  const Names names = draw_names(world);
  Json json = Json::object();
  json.set("incarnation", names.incarnation).set("bootId", "lie");
  json.set("session", std::to_string(world.random.below(1000)));
  return json.set("sequence", std::to_string(world.random.below(1000)));
}

std::string lying_state(SimEnvironment& world) {
  Json json = identity(world);
  json.set("heartbeatMs", "5000");
  // Most claim to be one of the hosts that have volumes, so that what is pinned to these would come to them.
  const auto& devices = world.witness.devices();
  Json labels = Json(Json::Object{{"zone", Json("a")}, {"operator.berth/tier", Json("gold")}});
  if (world.random.chance(3, 4)) {
    ++world.counts.faults["lie about the host name"];
    labels.set("kubernetes.io/hostname", devices[world.random.below(2)]->name);
  }
  json.set("labels", std::move(labels));
  const std::string cpu = world.random.chance(1, 8) ? "100000" : std::to_string(world.random.below(50));
  json.set("allocatable", Json(Json::Object{{"cpu", Json(cpu)}, {"memory", Json("1Gi")}, {"pods", Json("100")}}));
  return json.dump();
}

std::string lying_status(const Names& names) {
  Json json = Json::object();
  json.set("uid", names.uid).set("epoch", to_text(names.epoch)).set("phase", "Succeeded");
  return json.dump();
}

}  // namespace

std::string flood_incarnation(std::uint64_t nth) { return "flood-" + std::to_string(nth); }

std::vector<Message> flood(SimEnvironment& world, const std::string& node, const Request& list,
                           const std::string& incarnation, std::uint64_t nth) {
  const Topics topics(kFleet);
  Answer answer(AnswerType::slots);
  answer.node = node;
  answer.incarnation = incarnation;
  answer.gateway_id = list.gateway_id;
  answer.list_id = list.list_id;
  answer.pages = 1;
  const std::uint64_t count = world.random.chance(1, 8) ? kMaxSlots + 1 : 20;
  for (std::uint64_t slot = 0; slot < count; ++slot) {
    const std::string uid = std::string(kMadeUp) + node + "-" + std::to_string(nth) + "-" + std::to_string(slot);
    answer.slots.push_back({uid, {1, 1 + nth}, slot % 2 == 0 ? SlotState::running : SlotState::prepared, "{}", {}});
  }
  answer.answers_to = "f" + std::to_string(nth) + node;  // N12: under which it is what it is not
  Message slots;
  slots.topic = topics.answers(kGateway, node);
  slots.payload = encode(answer);
  (void)world.decoded.answers(slots.payload, node);
  Message presence;
  presence.topic = topics.node_presence(node);
  presence.payload =
      Json(Json::Object{
               {"incarnation", Json(flood_incarnation(nth + 1))}, {"session", Json("1")}, {"online", Json(true)}})
          .dump();
  return {std::move(slots), std::move(presence)};
}

Message junk_status(SimEnvironment& world, const std::string& node) {
  Message message;
  message.topic = Topics(kFleet).node_pod(node, "junk/x" + std::to_string(world.random.below(50)));
  message.payload = lying_status(draw_names(world));
  message.retain = true;
  return message;
}

Message lie(SimEnvironment& world, const std::string& node) {
  const Topics topics(kFleet);
  Message message;
  message.topic = topics.answers(kGateway, node);
  switch (world.random.below(9)) {
    case 4:
      message.topic = topics.node_heartbeat(node);
      message.payload = identity(world).dump();
      break;
    case 0:
      message.topic = topics.node_presence(node);
      message.payload = identity(world).set("online", world.random.chance(2, 3)).dump();
      break;
    case 1:
      message.topic = topics.node_state(node);
      message.payload = lying_state(world);
      break;
    case 2: {
      const Names names = draw_names(world);
      message.topic = topics.root() + "nodes/" + node + "/pods/" + names.pod;
      message.payload = lying_status(names);
      break;
    }
    case 3: message.payload = encode(lying_answer(world, node)).substr(world.random.below(20)); break;
    case 5: message.payload = lying_list(world, node); break;
    default: message.payload = encode(lying_answer(world, node)); break;
  }
  message.retain = message.topic.find("/nodes/") != std::string::npos && world.random.chance(1, 2);
  return message;
}

}  // namespace berth::sim
