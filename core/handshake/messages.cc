#include "core/handshake/messages.h"

#include <array>
#include <optional>
#include <utility>

#include "core/api/json.h"
#include "core/check.h"
#include "core/handshake/fields.h"

namespace berth {

namespace {

template <class T>
struct Word {
  T value;
  std::string_view text;
};

constexpr std::array<Word<RequestType>, 5> kRequestTypes{{{RequestType::pre_bind, "PreBind"},
                                                          {RequestType::bind, "Bind"},
                                                          {RequestType::release, "Release"},
                                                          {RequestType::list, "List"},
                                                          {RequestType::heartbeat, "Heartbeat"}}};
constexpr std::array<Word<AnswerType>, 8> kAnswerTypes{{{AnswerType::pre_bound, "PreBound"},
                                                        {AnswerType::bound, "Bound"},
                                                        {AnswerType::released, "Released"},
                                                        {AnswerType::rejected, "Rejected"},
                                                        {AnswerType::stale, "Stale"},
                                                        {AnswerType::superseded, "Superseded"},
                                                        {AnswerType::hello, "Hello"},
                                                        {AnswerType::slots, "Slots"}}};
constexpr std::array<Word<SlotState>, 6> kSlotStates{{{SlotState::none, "none"},
                                                      {SlotState::preparing, "preparing"},
                                                      {SlotState::prepared, "prepared"},
                                                      {SlotState::running, "running"},
                                                      {SlotState::stopping, "stopping"},
                                                      {SlotState::finished, "finished"}}};

template <class T, std::size_t N>
std::string_view find_text(const std::array<Word<T>, N>& words, T value) {
  for (const Word<T>& word : words) {
    if (word.value == value) return word.text;
  }
  CHECK(false);
}

// Reads `key` as one of `words`; a wrong word is named together with the right ones.
template <class T, std::size_t N>
T read_word(Fields& fields, std::string_view key, const std::array<Word<T>, N>& words) {
  const std::string text = fields.text(key);
  std::string wanted = "must be one of";
  for (const Word<T>& word : words) {
    if (word.text == text) return word.value;
    wanted.append(" ").append(word.text);
  }
  fields.fail(key, wanted);
  return words.front().value;
}

bool names_a_pod(RequestType type) { return type != RequestType::list && type != RequestType::heartbeat; }

GatewayId read_gateway_id(Fields& fields) { return {fields.u64("term"), fields.id("storeId")}; }

void set_gateway_id(Json& json, const GatewayId& id) {
  json.set("term", std::to_string(id.term));
  json.set("storeId", id.store_id);
}

std::string encode_slots(const std::vector<SlotReport>& slots) {
  std::string text = "[";
  for (const SlotReport& slot : slots) {
    Json json = Json::object();
    json.set("uid", slot.uid);
    json.set("epoch", to_text(slot.epoch));
    json.set("state", to_string(slot.state));
    if (!slot.volumes.empty()) json.set("volumes", to_json(slot.volumes));
    std::string item = json.dump();
    if (!slot.pod.empty()) append_member(item, "pod", slot.pod);
    if (text.size() > 1) text += ",";
    text += item;
  }
  return text + "]";
}

std::vector<SlotReport> read_slots(Fields& fields) {
  std::vector<SlotReport> slots;
  const Json::Array& values = fields.array("slots");
  for (std::size_t index = 0; index < values.size() && fields.ok(); ++index) {
    Fields inner = fields.element("slots", values[index], index);
    SlotReport slot;
    slot.uid = inner.id("uid");
    slot.epoch = inner.epoch("epoch");
    slot.state = read_word(inner, "state", kSlotStates);
    if (inner.has("pod")) slot.pod = inner.object_text("pod");
    slot.volumes = inner.volumes("volumes");
    fields.merge(inner);
    slots.push_back(std::move(slot));
  }
  return slots;
}

// Answers that a row or a release-list entry may end on name the pod and its epoch; the others may answer a List.
bool must_name_a_pod(AnswerType type) {
  return type != AnswerType::superseded && type != AnswerType::hello && type != AnswerType::slots;
}

}  // namespace

std::string_view to_string(RequestType type) { return find_text(kRequestTypes, type); }
std::string_view to_string(AnswerType type) { return find_text(kAnswerTypes, type); }
std::string_view to_string(SlotState state) { return find_text(kSlotStates, state); }

std::string encode(const Request& request) {
  Json json = Json::object();
  json.set("type", to_string(request.type));
  json.set("gateway", request.gateway);
  set_gateway_id(json, request.gateway_id);
  if (!request.incarnation.empty()) json.set("incarnation", request.incarnation);
  json.set("floor", to_text(request.floor));
  if (names_a_pod(request.type)) {
    json.set("uid", request.uid);
    json.set("epoch", to_text(request.epoch));
  }
  if (request.type == RequestType::pre_bind) {
    json.set("promiseMs", std::to_string(request.promise_ms));
    if (!request.volumes.empty()) json.set("volumes", to_json(request.volumes));
  }
  if (request.type == RequestType::list) {
    json.set("page", static_cast<std::int64_t>(request.page));
    json.set("listId", std::to_string(request.list_id));
  }
  if (request.report) json.set("report", true);
  if (request.type == RequestType::heartbeat) json.set("sequence", std::to_string(request.sequence));
  std::string text = json.dump();
  if (request.type == RequestType::pre_bind) append_member(text, "pod", request.pod);
  return text;
}

Result<Request> decode_request(std::string_view payload) {
  const Result<Json> json = Json::parse(payload, kMessageLimits);
  if (!json) return json.error();
  Fields fields(*json);
  Request request;
  request.type = read_word(fields, "type", kRequestTypes);
  request.gateway = fields.name("gateway");
  request.gateway_id = read_gateway_id(fields);
  request.floor = fields.epoch("floor");
  if (names_a_pod(request.type) || fields.has("incarnation")) request.incarnation = fields.id("incarnation");
  if (names_a_pod(request.type)) {
    request.uid = fields.id("uid");
    request.epoch = fields.epoch("epoch");
    if (request.epoch.is_zero()) fields.fail("epoch", "must not be 0.0, which means none");
  }
  if (request.type == RequestType::pre_bind) {
    request.promise_ms = fields.millis("promiseMs");
    request.volumes = fields.volumes("volumes");
    request.pod = fields.object_text("pod");
  }
  if (request.type == RequestType::list) {
    request.page = fields.u32("page");
    request.list_id = fields.u64("listId");
    request.report = json->find("report") != nullptr && *json->find("report") == Json(true);
  }
  if (request.type == RequestType::heartbeat) request.sequence = fields.u64("sequence");
  if (!fields.ok()) return fields.status();
  return request;
}

std::string encode(const Answer& answer) {
  Json json = Json::object();
  json.set("type", to_string(answer.type));
  json.set("incarnation", answer.incarnation);
  if (!answer.gateway_id.store_id.empty()) set_gateway_id(json, answer.gateway_id);
  if (!answer.uid.empty()) {
    json.set("uid", answer.uid);
    json.set("epoch", to_text(answer.epoch));
  }
  if (!answer.to_incarnation.empty()) json.set("toIncarnation", answer.to_incarnation);
  if (answer.type == AnswerType::rejected) json.set("reason", answer.reason);
  if (answer.type == AnswerType::stale) json.set("high", to_text(answer.high));
  if (answer.type != AnswerType::slots) return json.dump();
  json.set("page", static_cast<std::int64_t>(answer.page));
  json.set("pages", static_cast<std::int64_t>(answer.pages));
  json.set("listId", std::to_string(answer.list_id));
  std::string text = json.dump();
  append_member(text, "slots", encode_slots(answer.slots));
  return text;
}

Result<Answer> decode_answer(std::string_view payload, std::string_view node) {
  const Result<Json> json = Json::parse(payload, kMessageLimits);
  if (!json) return json.error();
  Fields fields(*json);
  Answer answer;
  answer.type = read_word(fields, "type", kAnswerTypes);
  answer.node = node;
  answer.incarnation = fields.id("incarnation");
  // A Hello may be unsolicited: it then echoes nothing.
  if (answer.type != AnswerType::hello || fields.has("storeId")) answer.gateway_id = read_gateway_id(fields);
  if (must_name_a_pod(answer.type) || fields.has("uid")) {
    answer.uid = fields.id("uid");
    answer.epoch = fields.epoch("epoch");
  }
  if (answer.type == AnswerType::hello && fields.has("toIncarnation")) {
    answer.to_incarnation = fields.id("toIncarnation");
  }
  if (answer.type == AnswerType::rejected) answer.reason = fields.text("reason");
  if (answer.type == AnswerType::stale) answer.high = fields.epoch("high");
  if (answer.type == AnswerType::slots) {
    answer.page = fields.u32("page");
    answer.pages = fields.u32("pages");
    answer.list_id = fields.u64("listId");
    answer.slots = read_slots(fields);
    if (answer.page >= answer.pages) fields.fail("page", "must be below pages");
  }
  if (!fields.ok()) return fields.status();
  return answer;
}

}  // namespace berth
