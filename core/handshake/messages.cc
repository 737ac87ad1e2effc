#include "core/handshake/messages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "core/api/names.h"
#include "core/certificates.h"
#include "core/check.h"
#include "core/handshake/fields.h"
#include "core/handshake/lists.h"
#include "core/json/json.h"

namespace berth {

namespace {

template <class T>
struct EnumName {
  T value;
  std::string_view text;
};

constexpr std::array<EnumName<RequestType>, 9> kRequestTypes{{{RequestType::pre_bind, "PreBind"},
                                                              {RequestType::bind, "Bind"},
                                                              {RequestType::release, "Release"},
                                                              {RequestType::list, "List"},
                                                              {RequestType::heartbeat, "Heartbeat"},
                                                              {RequestType::certificate, "Certificate"},
                                                              {RequestType::delete_volume, "DeleteVolume"},
                                                              {RequestType::configs, "Configs"},
                                                              {RequestType::config, "Config"}}};
constexpr std::array<EnumName<AnswerType>, 12> kAnswerTypes{{{AnswerType::pre_bound, "PreBound"},
                                                             {AnswerType::bound, "Bound"},
                                                             {AnswerType::released, "Released"},
                                                             {AnswerType::rejected, "Rejected"},
                                                             {AnswerType::stale, "Stale"},
                                                             {AnswerType::superseded, "Superseded"},
                                                             {AnswerType::hello, "Hello"},
                                                             {AnswerType::slots, "Slots"},
                                                             {AnswerType::kept, "Kept"},
                                                             {AnswerType::renew, "Renew"},
                                                             {AnswerType::volume_deleted, "VolumeDeleted"},
                                                             {AnswerType::lacks, "Lacks"}}};
constexpr std::array<EnumName<SlotState>, 6> kSlotStates{{{SlotState::none, "none"},
                                                          {SlotState::preparing, "preparing"},
                                                          {SlotState::prepared, "prepared"},
                                                          {SlotState::running, "running"},
                                                          {SlotState::stopping, "stopping"},
                                                          {SlotState::finished, "finished"}}};

template <class T, std::size_t N>
std::string_view find_text(const std::array<EnumName<T>, N>& names, T value) {
  for (const EnumName<T>& name : names) {
    if (name.value == value) return name.text;
  }
  CHECK(false);
}

// Reads `key` as one of `names`; the error lists the valid ones.
template <class T, std::size_t N>
T read_enum(Fields& fields, std::string_view key, const std::array<EnumName<T>, N>& names) {
  const std::string text = fields.text(key);
  std::string allowed;
  for (const EnumName<T>& name : names) {
    if (name.text == text) return name.value;
    allowed.append(allowed.empty() ? "" : ", ").append(name.text);
  }
  fields.fail(key, "must be one of " + allowed);
  return names.front().value;
}

bool names_a_pod(RequestType type) {
  return type == RequestType::pre_bind || type == RequestType::bind || type == RequestType::release;
}

GatewayId read_gateway_id(Fields& fields) { return {fields.u64("term"), fields.id("storeId")}; }

std::string text_of(const Json& value) { return value.dump(); }

void add_gateway_id(Members& members, const GatewayId& id) {
  members.emplace_back("term", text_of(std::to_string(id.term)));
  members.emplace_back("storeId", text_of(id.store_id));
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

std::string encode_names(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(name);
  return list.dump();
}

std::vector<std::string> read_names(Fields& fields, std::string_view key) {
  std::vector<std::string> names;
  if (!fields.has(key)) return names;
  for (const Json& name : fields.array(key)) {
    if (name.is_string() && is_valid_name(name.as_string())) {
      names.push_back(name.as_string());
    } else {
      fields.fail(key, "must be a list of names");
    }
  }
  return names;
}

std::vector<SlotReport> read_slots(Fields& fields) {
  std::vector<SlotReport> slots;
  const Json::Array& values = fields.array("slots");
  for (std::size_t index = 0; index < values.size() && fields.ok(); ++index) {
    Fields inner = fields.element("slots", values[index], index);
    SlotReport slot;
    slot.uid = inner.id("uid");
    slot.epoch = inner.epoch("epoch");
    slot.state = read_enum(inner, "state", kSlotStates);
    if (inner.has("pod")) slot.pod = inner.object_text("pod");
    slot.volumes = inner.volumes("volumes");
    fields.merge(inner);
    slots.push_back(std::move(slot));
  }
  return slots;
}

std::string encode_kept(const std::vector<KeptVolume>& volumes) {
  Json list = Json::array();
  for (const KeptVolume& each : volumes) {
    Json item = Json::object();
    item.set("volume", each.volume).set("path", each.path);
    if (!each.claim.empty()) item.set("claim", each.claim);
    if (each.bytes > 0) item.set("bytes", std::to_string(each.bytes));
    list.push_back(std::move(item));
  }
  return list.dump();
}

std::vector<KeptVolume> read_kept(Fields& fields) {
  std::vector<KeptVolume> volumes;
  if (!fields.has("keptVolumes")) return volumes;
  const Json::Array& values = fields.array("keptVolumes");
  for (std::size_t index = 0; index < values.size() && fields.ok(); ++index) {
    Fields inner = fields.element("keptVolumes", values[index], index);
    KeptVolume volume{inner.name("volume"), inner.text("path")};
    if (inner.has("claim")) volume.claim = inner.text("claim");
    if (inner.has("bytes")) volume.bytes = static_cast<std::int64_t>(inner.u64("bytes"));
    if (volume.bytes < 0) inner.fail("bytes", "must be below 2^63");
    fields.merge(inner);
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

// Answers that can end a row or a release-list entry must name the pod and its epoch; the others may answer a List.
bool must_name_a_pod(AnswerType type) {
  return type != AnswerType::superseded && type != AnswerType::hello && type != AnswerType::slots &&
         type != AnswerType::renew && type != AnswerType::volume_deleted && type != AnswerType::lacks;
}

std::string seen_text(const Request& request) {
  Json json = Json::object();
  json.set("incarnation", request.seen_incarnation);
  json.set("at", to_text(request.seen));
  return json.dump();
}

void read_seen(Fields& fields, Request& request) {
  Fields inner(*fields.find("seen"), "seen.");
  request.seen_incarnation = inner.id("incarnation");
  request.seen = inner.epoch("at");
  fields.merge(inner);
}

Millis read_time(Fields& fields) {
  return static_cast<Millis>(std::min<std::uint64_t>(fields.u64("time"), std::numeric_limits<Millis>::max()));
}

void add_pre_bind(Members& members, const Request& request) {
  if (!request.volumes.empty()) members.emplace_back("volumes", text_of(to_json(request.volumes)));
  if (!request.configs.empty()) members.emplace_back("configs", to_text(request.configs));
  members.emplace_back("pod", request.pod);
}

bool is_about_configs(RequestType type) { return type == RequestType::configs || type == RequestType::config; }

void add_configs(Members& members, const Request& request) {
  if (!is_about_configs(request.type)) return;
  members.emplace_back("position", text_of(std::to_string(request.position)));
  if (request.type == RequestType::configs) members.emplace_back("configs", to_text(request.configs));
  if (request.type == RequestType::config) members.emplace_back("config", to_text(request.config));
}

void read_configs(Fields& fields, Request& request) {
  request.position = fields.u64("position");
  if (request.type == RequestType::configs) request.configs = read_config_refs(fields, true);
  if (request.type == RequestType::config) request.config = read_config_part(fields);
}

// An epoch of the term that the name stands for is its counter alone.
std::string epoch_via(const Epoch& epoch, const GatewayId& id) {
  return text_of(epoch.term == id.term ? std::to_string(epoch.counter) : to_text(epoch));
}

Members members_via(const Request& request) {
  const bool is_pre_bind = request.type == RequestType::pre_bind;
  Members members;
  members.emplace_back("via", text_of(request.via));
  members.emplace_back(is_pre_bind ? "preBind" : "bind", epoch_via(request.epoch, request.gateway_id));
  if (!is_pre_bind) return members;
  if (!request.floor.is_zero()) members.emplace_back("floor", epoch_via(request.floor, request.gateway_id));
  if (!request.uid_in_pod) members.emplace_back("uid", text_of(request.uid));
  if (request.promise_ms != kUsualPromiseMs) {
    members.emplace_back("promiseMs", text_of(std::to_string(request.promise_ms)));
  }
  add_pre_bind(members, request);
  return members;
}

Members members_of(const Request& request) {
  if (!request.via.empty()) return members_via(request);
  Members members;
  members.emplace_back("type", text_of(to_string(request.type)));
  members.emplace_back("gateway", text_of(request.gateway));
  add_gateway_id(members, request.gateway_id);
  if (!request.incarnation.empty()) members.emplace_back("incarnation", text_of(request.incarnation));
  members.emplace_back("floor", text_of(to_text(request.floor)));
  if (names_a_pod(request.type)) {
    if (request.type != RequestType::pre_bind || !request.uid_in_pod) members.emplace_back("uid", text_of(request.uid));
    members.emplace_back("epoch", text_of(to_text(request.epoch)));
  }
  if (request.type == RequestType::pre_bind) {
    members.emplace_back("promiseMs", text_of(std::to_string(request.promise_ms)));
    add_pre_bind(members, request);
  }
  if (request.type == RequestType::list) {
    members.emplace_back("page", std::to_string(request.page));
    members.emplace_back("listId", text_of(std::to_string(request.list_id)));
    if (request.protocol != ProtocolVersion{}) members.emplace_back("protocol", text_of(to_text(request.protocol)));
    if (!request.proof.empty()) members.emplace_back("proof", text_of(request.proof));
    if (request.time > 0) members.emplace_back("time", text_of(std::to_string(request.time)));
  }
  if (!request.seen.is_zero()) members.emplace_back("seen", seen_text(request));
  if (request.report) members.emplace_back("report", "true");
  if (request.keep_output) members.emplace_back("keepOutput", "true");
  if (request.type == RequestType::heartbeat) {
    members.emplace_back("sequence", text_of(std::to_string(request.sequence)));
  }
  if (request.type == RequestType::delete_volume) {
    members.emplace_back("volume", text_of(request.volume));
    if (!request.path.empty()) members.emplace_back("path", text_of(request.path));
    members.emplace_back("epoch", text_of(to_text(request.epoch)));
  }
  add_configs(members, request);
  if (!request.certificate.empty()) members.emplace_back("certificate", text_of(request.certificate));
  if (!request.refusal.empty()) members.emplace_back("refusal", text_of(request.refusal));
  if (request.retry_ms > 0) members.emplace_back("retryMs", text_of(std::to_string(request.retry_ms)));
  return members;
}

bool can_go_via(AnswerType type) { return type == AnswerType::pre_bound || type == AnswerType::bound; }

Members members_via(const Answer& answer) {
  Members members;
  members.emplace_back("via", text_of(answer.via));
  members.emplace_back(answer.type == AnswerType::bound ? "bound" : "preBound",
                       epoch_via(answer.epoch, answer.gateway_id));
  if (!answer.at.is_zero()) members.emplace_back("at", text_of(to_text(answer.at)));
  if (!answer.uid.empty() && !answer.epoch_alone) members.emplace_back("uid", text_of(answer.uid));
  return members;
}

Members members_of(const Answer& answer) {
  if (!answer.via.empty() && can_go_via(answer.type)) return members_via(answer);
  Members members;
  members.emplace_back("type", text_of(to_string(answer.type)));
  members.emplace_back("incarnation", text_of(answer.incarnation));
  if (!answer.at.is_zero()) members.emplace_back("at", text_of(to_text(answer.at)));
  if (!answer.gateway_id.store_id.empty()) add_gateway_id(members, answer.gateway_id);
  if (!answer.uid.empty() && !answer.epoch_alone) members.emplace_back("uid", text_of(answer.uid));
  if (!answer.uid.empty() || !answer.epoch.is_zero()) members.emplace_back("epoch", text_of(to_text(answer.epoch)));
  if (!answer.to_incarnation.empty()) members.emplace_back("toIncarnation", text_of(answer.to_incarnation));
  if (answer.type == AnswerType::rejected) members.emplace_back("reason", text_of(answer.reason));
  if (!answer.refusals.empty()) members.emplace_back("refusals", text_of(answer.refusals));
  if (!answer.proof.empty()) members.emplace_back("proof", text_of(answer.proof));
  if (answer.type == AnswerType::stale) members.emplace_back("high", text_of(to_text(answer.high)));
  if (answer.type == AnswerType::slots) {
    members.emplace_back("page", std::to_string(answer.page));
    members.emplace_back("pages", std::to_string(answer.pages));
    members.emplace_back("listId", text_of(std::to_string(answer.list_id)));
    members.emplace_back("slots", encode_slots(answer.slots));
    if (!answer.unused_volumes.empty()) members.emplace_back("unusedVolumes", encode_names(answer.unused_volumes));
    if (!answer.obeyed_before.empty()) members.emplace_back("obeyedBefore", to_json(answer.obeyed_before).dump());
    if (!answer.kept_volumes.empty()) members.emplace_back("keptVolumes", encode_kept(answer.kept_volumes));
    if (!answer.answers_to.empty()) members.emplace_back("answersTo", text_of(answer.answers_to));
  }
  if (answer.type == AnswerType::lacks) {
    members.emplace_back("wishes", to_text(answer.wishes));
    if (answer.position > 0) members.emplace_back("position", text_of(std::to_string(answer.position)));
  }
  if (!answer.volume.empty()) members.emplace_back("volume", text_of(answer.volume));
  if (answer.type == AnswerType::renew) members.emplace_back("request", text_of(answer.certificate_request));
  return members;
}

std::string read_pem(Fields& fields, std::string_view key, std::string_view label) {
  std::string text = fields.text(key);
  if (fields.ok() && !is_pem(text, label)) {
    fields.fail(key, "must be one " + std::string(label) + " in PEM, of at most " +
                         std::to_string(kCertificateBytesMax) + " bytes");
  }
  return text;
}

void read_certificate(Fields& fields, Request& request) {
  if (fields.has("certificate")) {
    request.certificate = read_pem(fields, "certificate", "CERTIFICATE");
  } else {
    request.refusal = fields.text("refusal");
    if (fields.has("retryMs")) request.retry_ms = fields.millis("retryMs");
  }
}

// In a PreBind it may be in the manifest only.
std::string read_uid(Fields& fields, RequestType type) {
  if (type != RequestType::pre_bind || fields.has("uid")) return fields.id("uid");
  const Json* pod = fields.find("pod");
  const Json* metadata = pod == nullptr ? nullptr : pod->find("metadata");
  if (metadata == nullptr) {
    fields.fail("uid", "is missing, here and in pod.metadata");
    return {};
  }
  Fields inner(*metadata, "pod.metadata.");
  std::string uid = inner.id("uid");
  fields.merge(inner);
  return uid;
}

// As epoch_via() writes it; Via::resolve() has the term.
Epoch read_epoch_via(Fields& fields, std::string_view key) {
  const Json* member = fields.find(key);
  const bool is_counter = member != nullptr && member->is_string() && !member->as_string().contains('.');
  const Epoch epoch = is_counter ? Epoch{0, fields.u64(key)} : fields.epoch(key);
  if (epoch.is_zero()) fields.fail(key, "must not be 0, which means none");
  return epoch;
}

void read_pre_bind(Fields& fields, Request& request) {
  request.volumes = fields.volumes("volumes");
  request.configs = read_config_refs(fields, false);
  request.pod = fields.object_text("pod");
}

// N12. Whoever reads it knows what the name stands for, or drops it.
Result<Request> read_via(Fields& fields) {
  Request request(fields.has("preBind") ? RequestType::pre_bind : RequestType::bind);
  request.via = fields.id("via");
  if (request.type == RequestType::pre_bind) {
    request.epoch = read_epoch_via(fields, "preBind");
    request.uid = read_uid(fields, request.type);
    if (fields.has("floor")) request.floor = read_epoch_via(fields, "floor");
    request.promise_ms = fields.has("promiseMs") ? fields.millis("promiseMs") : kUsualPromiseMs;
    read_pre_bind(fields, request);
  } else {
    request.epoch = read_epoch_via(fields, "bind");
  }
  if (!fields.ok()) return fields.status();
  return request;
}

Result<Request> read_request(Fields& fields) {
  if (fields.has("via")) return read_via(fields);
  Request request;
  request.type = read_enum(fields, "type", kRequestTypes);
  request.gateway = fields.name("gateway");
  request.gateway_id = read_gateway_id(fields);
  request.floor = fields.epoch("floor");
  const bool needs_incarnation =
      names_a_pod(request.type) || request.type == RequestType::delete_volume || is_about_configs(request.type);
  if (needs_incarnation || fields.has("incarnation")) request.incarnation = fields.id("incarnation");
  if (names_a_pod(request.type)) {
    request.uid = read_uid(fields, request.type);
    request.epoch = fields.epoch("epoch");
    if (request.epoch.is_zero()) fields.fail("epoch", "must not be 0.0, which means none");
  }
  if (request.type == RequestType::pre_bind) {
    request.promise_ms = fields.millis("promiseMs");
    read_pre_bind(fields, request);
  }
  if (request.type == RequestType::list) {
    request.page = fields.u32("page");
    request.list_id = fields.u64("listId");
    request.report = fields.has("report") && *fields.find("report") == Json(true);
    request.protocol = fields.protocol();
    if (fields.has("seen")) read_seen(fields, request);
    if (fields.has("proof")) request.proof = fields.id("proof");
    if (fields.has("time")) request.time = read_time(fields);
  }
  if (request.type == RequestType::release) {
    request.keep_output = fields.has("keepOutput") && *fields.find("keepOutput") == Json(true);
  }
  if (request.type == RequestType::delete_volume) {
    request.volume = fields.name("volume");
    if (fields.has("path")) request.path = fields.text("path");
    request.epoch = fields.epoch("epoch");
  }
  if (request.type == RequestType::heartbeat) request.sequence = fields.u64("sequence");
  if (request.type == RequestType::certificate) read_certificate(fields, request);
  if (is_about_configs(request.type)) read_configs(fields, request);
  if (!fields.ok()) return fields.status();
  return request;
}

Result<Answer> read_answer_via(Fields& fields, std::string_view node) {
  Answer answer(fields.has("preBound") ? AnswerType::pre_bound : AnswerType::bound);
  answer.node = node;
  answer.via = fields.id("via");
  answer.epoch = read_epoch_via(fields, answer.type == AnswerType::pre_bound ? "preBound" : "bound");
  if (fields.has("at")) answer.at = fields.epoch("at");
  if (fields.has("uid")) answer.uid = fields.id("uid");
  if (!fields.ok()) return fields.status();
  return answer;
}

Result<Answer> read_answer(Fields& fields, std::string_view node) {
  if (fields.has("via")) return read_answer_via(fields, node);
  Answer answer;
  answer.type = read_enum(fields, "type", kAnswerTypes);
  answer.node = node;
  answer.incarnation = fields.id("incarnation");
  if (fields.has("at")) answer.at = fields.epoch("at");
  // An unsolicited Hello and a Renew echo nothing.
  const bool echoes = answer.type != AnswerType::hello && answer.type != AnswerType::renew;
  if (echoes || fields.has("storeId")) answer.gateway_id = read_gateway_id(fields);
  if (must_name_a_pod(answer.type) || fields.has("uid")) {
    const bool is_optional = answer.type == AnswerType::pre_bound || answer.type == AnswerType::bound;
    if (!is_optional || fields.has("uid")) answer.uid = fields.id("uid");
    answer.epoch = fields.epoch("epoch");
  }
  if (answer.type == AnswerType::hello && fields.has("toIncarnation")) {
    answer.to_incarnation = fields.id("toIncarnation");
  }
  if (answer.type == AnswerType::rejected) answer.reason = fields.text("reason");
  if (answer.type == AnswerType::rejected && fields.has("refusals")) answer.refusals = fields.id("refusals");
  if (answer.type == AnswerType::superseded && fields.has("proof")) answer.proof = fields.id("proof");
  if (answer.type == AnswerType::stale) answer.high = fields.epoch("high");
  if (answer.type == AnswerType::slots) {
    answer.page = fields.u32("page");
    answer.pages = fields.u32("pages");
    answer.list_id = fields.u64("listId");
    answer.slots = read_slots(fields);
    answer.unused_volumes = read_names(fields, "unusedVolumes");
    answer.obeyed_before = fields.obeyed("obeyedBefore");
    answer.kept_volumes = read_kept(fields);
    if (fields.has("answersTo")) answer.answers_to = fields.id("answersTo");
    if (answer.page >= answer.pages) fields.fail("page", "must be below pages");
  }
  if (answer.type == AnswerType::volume_deleted) {
    answer.volume = fields.name("volume");
    answer.epoch = fields.epoch("epoch");
  }
  if (answer.type == AnswerType::lacks) {
    answer.wishes = read_config_wishes(fields);
    if (fields.has("position")) answer.position = fields.u64("position");
  }
  if (answer.type == AnswerType::renew) {
    answer.certificate_request = read_pem(fields, "request", "CERTIFICATE REQUEST");
  }
  if (!fields.ok()) return fields.status();
  return answer;
}

// The messages of a payload: the payload itself, or its items.
template <class T, class Read>
std::vector<Result<T>> read_all(std::string_view payload, const Read& read) {
  std::vector<Result<T>> messages;
  const Result<Json> json = Json::parse(payload, kMessageLimits);
  if (!json) {
    messages.push_back(json.error());
    return messages;
  }
  const Json* items = json->find("items");
  if (items == nullptr) {
    Fields fields(*json);
    messages.push_back(read(fields));
    return messages;
  }
  if (!items->is_array() || items->as_array().empty() || items->as_array().size() > kMaxItems) {
    messages.push_back(Status::error("items: must be an array of 1 to " + std::to_string(kMaxItems) + " messages"));
    return messages;
  }
  messages.reserve(items->as_array().size());
  for (std::size_t index = 0; index < items->as_array().size(); ++index) {
    Fields fields(*json, items->as_array()[index], index);
    messages.push_back(read(fields));
  }
  return messages;
}

}  // namespace

std::string_view to_string(RequestType type) { return find_text(kRequestTypes, type); }
std::string_view to_string(AnswerType type) { return find_text(kAnswerTypes, type); }
std::string_view to_string(SlotState state) { return find_text(kSlotStates, state); }

std::string encode(const Request& request) { return object_of(members_of(request)); }
std::string encode(const Answer& answer) { return object_of(members_of(answer)); }

std::vector<std::string> encode_all(const std::vector<Request>& requests) {
  std::vector<Members> all;
  for (const Request& request : requests) all.push_back(members_of(request));
  // One that goes via a name has no promiseMs when it is the usual one: the list must not have another for it.
  const bool has_names =
      std::any_of(requests.begin(), requests.end(), [](const Request& each) { return !each.via.empty(); });
  std::vector<std::string_view> defaults{"type"};
  if (!has_names) defaults.emplace_back("promiseMs");
  return lists_of(std::move(all), defaults);
}

std::vector<std::string> encode_all(const std::vector<Answer>& answers) {
  std::vector<Members> all;
  for (const Answer& answer : answers) all.push_back(members_of(answer));
  return lists_of(std::move(all), {"type"});
}

std::vector<Result<Request>> decode_requests(std::string_view payload) {
  return read_all<Request>(payload, read_request);
}

std::vector<Result<Answer>> decode_answers(std::string_view payload, std::string_view node) {
  return read_all<Answer>(payload, [node](Fields& fields) { return read_answer(fields, node); });
}

}  // namespace berth
