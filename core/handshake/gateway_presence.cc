#include "core/handshake/gateway_presence.h"

#include <array>
#include <utility>

#include "core/check.h"
#include "core/handshake/fields.h"
#include "core/handshake/protocol.h"
#include "core/json/json.h"

namespace berth {

namespace {

constexpr std::array<std::pair<PresenceState, std::string_view>, 4> kStates{{{PresenceState::offline, "offline"},
                                                                             {PresenceState::waiting, "waiting"},
                                                                             {PresenceState::claiming, "claiming"},
                                                                             {PresenceState::serving, "serving"}}};

constexpr std::size_t kMaxAddressBytes = 64;

PresenceState read_state(Fields& fields) {
  const std::string said = fields.text("state");
  for (const auto& [state, text] : kStates) {
    if (text == said) return state;
  }
  fields.fail("state", "must be one of offline, waiting, claiming, serving");
  return PresenceState::offline;
}

}  // namespace

std::string_view to_string(PresenceState state) {
  for (const auto& [each, text] : kStates) {
    if (each == state) return text;
  }
  CHECK(false);
}

std::string encode(const GatewayPresence& presence) {
  Json json = Json::object();
  json.set("state", to_string(presence.state)).set("machine", presence.machine);
  json.set("claim", static_cast<std::int64_t>(presence.claim));
  if (!presence.address.empty()) json.set("address", presence.address);
  return json.set("protocol", to_text(kProtocol)).dump();
}

std::string encode(const Leader& leader) {
  Json json = Json::object();
  json.set("gateway", leader.gateway).set("machine", leader.machine);
  json.set("storeId", leader.id.store_id).set("term", std::to_string(leader.id.term));
  return json.set("protocol", to_text(kProtocol)).dump();
}

Result<GatewayPresence> decode_gateway_presence(std::string_view payload) {
  const Result<Json> json = Json::parse(payload, kMessageLimits);
  if (!json) return json.error();
  Fields fields(*json);
  GatewayPresence presence;
  presence.state = read_state(fields);
  presence.machine = fields.id("machine");
  presence.claim = fields.u32("claim");
  if (fields.has("address")) presence.address = fields.text("address");
  if (presence.address.size() > kMaxAddressBytes) fields.fail("address", "must have at most 64 characters");
  if (!fields.ok()) return fields.status();
  return presence;
}

Result<Leader> decode_leader(std::string_view payload) {
  const Result<Json> json = Json::parse(payload, kMessageLimits);
  if (!json) return json.error();
  Fields fields(*json);
  Leader leader;
  leader.gateway = fields.name("gateway");
  leader.machine = fields.id("machine");
  leader.id = {fields.u64("term"), fields.id("storeId")};
  if (!fields.ok()) return fields.status();
  if (leader.id.term >= kTermMax) return Status::error("term: must be less than 2^62");
  return leader;
}

}  // namespace berth
