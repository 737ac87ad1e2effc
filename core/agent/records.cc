#include "core/agent/records.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/agent/device_objects.h"
#include "core/handshake/fields.h"
#include "core/json/json.h"

namespace berth {

namespace {

constexpr SlotState kStates[] = {SlotState::preparing, SlotState::prepared, SlotState::running, SlotState::stopping,
                                 SlotState::finished};

SlotState read_state(Fields& fields) {
  const std::string text = fields.text("state");
  for (const SlotState state : kStates) {
    if (to_string(state) == text) return state;
  }
  fields.fail("state", "must be preparing, prepared, running, stopping or finished");
  return SlotState::none;
}

Slot read_slot(Fields& fields, const Json& json) {
  Slot slot;
  slot.epoch = fields.epoch("epoch");
  slot.state = read_state(fields);
  slot.pod = fields.object_text("pod");
  slot.volumes = fields.volumes("volumes");
  if (fields.has("handle")) slot.handle = fields.text("handle");
  const Json* keep = json.find("keepOutput");
  slot.keep_output = keep != nullptr && *keep == Json(true);
  const Json* finished = json.find("finishedBeforeStop");
  slot.finished_before_stop = finished != nullptr && finished->is_bool() && finished->as_bool();
  slot.promise_ms = fields.millis("promiseMs");
  slot.deadline = static_cast<Millis>(fields.u64("deadline"));
  if (fields.has("status")) slot.status = fields.object_text("status");
  return slot;
}

constexpr std::array kVolumeStates{std::pair{MadeVolume::State::made, std::string_view("made")},
                                   std::pair{MadeVolume::State::kept, std::string_view("kept")},
                                   std::pair{MadeVolume::State::removing, std::string_view("removing")}};

MadeVolume read_volume(Fields& fields) {
  MadeVolume volume;
  volume.path = fields.text("path");
  if (fields.has("claim")) volume.claim = fields.text("claim");
  if (fields.has("bytes")) volume.bytes = static_cast<std::int64_t>(fields.u64("bytes"));
  volume.epoch = fields.epoch("epoch");
  const std::string state = fields.text("state");
  const auto* found = std::find_if(kVolumeStates.begin(), kVolumeStates.end(),
                                   [&state](const auto& each) { return each.second == state; });
  if (found == kVolumeStates.end()) {
    fields.fail("state", "must be made, kept or removing");
  } else {
    volume.state = found->first;
  }
  return volume;
}

DeviceIdentity read_identity(Fields& fields) {
  DeviceIdentity identity{fields.text("fleet"), fields.text("node"), {}, {}};
  if (fields.has("machineId")) identity.machine_id = fields.text("machineId");
  if (fields.has("hardwareSerial")) identity.hardware_serial = fields.text("hardwareSerial");
  return identity;
}

TermHistory read_runs(Fields& fields) {
  Result<TermHistory> runs = TermHistory::parse(*fields.find("runs"));
  if (runs) return std::move(*runs);
  fields.fail("runs", runs.error().message());
  return {};
}

void read_meta(Fields& fields, const std::string& key, AgentRecords& out) {
  if (key == kIncarnationKey) {
    out.state.incarnation = fields.id("value");
    if (fields.has("fleet")) out.identity = read_identity(fields);
    if (fields.has("lost")) out.lost = fields.id("lost");
    if (fields.has("lostBefore")) out.lost_before = fields.id("lostBefore");
  } else if (key == kGatewayKey) {
    out.state.gateway = {fields.u64("term"), fields.id("storeId")};
    if (fields.has("proof")) out.state.proof = fields.id("proof");
    out.state.obeyed_before = fields.obeyed("before");
  } else if (key == kFloorKey) {
    out.state.floor = fields.epoch("value");
  } else if (key == kIdentityKey) {
    out.identity = read_identity(fields);
  } else if (key == kBootKey) {
    out.boot_id = fields.text("value");
    if (fields.has("runs")) out.runs = read_runs(fields);
    if (fields.has("lost")) out.lost = fields.id("lost");
  } else if (key == kSessionKey) {
    out.session = fields.u64("value");
  } else if (key.starts_with(kVolumeKeys)) {
    out.volumes[key.substr(kVolumeKeys.size())] = read_volume(fields);
  } else {
    fields.fail("key", "unknown to this version");
  }
}

std::string_view describe_table(Table table) {
  switch (table) {
    case Table::meta: return "meta";
    case Table::slot: return "slot";
    case Table::high: return "high";
    case Table::object: return "object";
    case Table::row: return "row";
    case Table::release: return "release";
    case Table::node: return "node";
    case Table::queue: return "queue";
  }
  return "unknown table";
}

Status read_fields(const Record& record, AgentRecords& out) {
  if (record.table == Table::object) {
    if (!DeviceObjects::is_record_key(record.key)) return Status::error("not an agent's; is this the gateway's store?");
    out.configs[record.key] = record.value;
    return Status::ok();
  }
  const Result<Json> json = Json::parse(record.value, kRecordLimits);
  if (!json) return json.error();
  Fields fields(*json);
  switch (record.table) {
    case Table::meta: read_meta(fields, record.key, out); break;
    case Table::slot: out.state.slots[record.key] = read_slot(fields, *json); break;
    case Table::high: out.state.high[record.key] = fields.epoch("value"); break;
    default: fields.fail("table", "not used by an agent; is this the gateway's store?");
  }
  return fields.status();
}

}  // namespace

Status decode_record(const Record& record, AgentRecords& out) {
  Status read = read_fields(record, out);
  if (read.is_success()) return read;
  return Status::error(std::string(describe_table(record.table)) + " " + record.key + ": " + read.message());
}

std::string encode_text(std::string_view text) {
  Json json = Json::object();
  json.set("value", text);
  return json.dump();
}

std::string encode(const Epoch& epoch) { return encode_text(to_text(epoch)); }

std::string encode_gateway(const NodeState& state) {
  Json json = Json::object();
  json.set("term", std::to_string(state.gateway.term));
  json.set("storeId", state.gateway.store_id);
  if (!state.proof.empty()) json.set("proof", state.proof);
  if (!state.obeyed_before.empty()) json.set("before", to_json(state.obeyed_before));
  return json.dump();
}

std::string encode(const Slot& slot) {
  Json json = Json::object();
  json.set("epoch", to_text(slot.epoch));
  json.set("state", to_string(slot.state));
  if (!slot.volumes.empty()) json.set("volumes", to_json(slot.volumes));
  if (!slot.handle.empty()) json.set("handle", slot.handle);
  if (slot.finished_before_stop) json.set("finishedBeforeStop", true);
  if (slot.keep_output) json.set("keepOutput", true);
  json.set("promiseMs", std::to_string(slot.promise_ms));
  json.set("deadline", std::to_string(slot.deadline));
  std::string text = json.dump();
  append_member(text, "pod", slot.pod);
  if (!slot.status.empty()) append_member(text, "status", slot.status);
  return text;
}

std::string encode(const MadeVolume& volume) {
  Json json = Json::object();
  json.set("path", volume.path);
  if (!volume.claim.empty()) json.set("claim", volume.claim);
  if (volume.bytes > 0) json.set("bytes", std::to_string(volume.bytes));
  json.set("epoch", to_text(volume.epoch));
  json.set("state", kVolumeStates.at(static_cast<std::size_t>(volume.state)).second);
  return json.dump();
}

std::string encode_incarnation(const AgentRecords& records) {
  Json json = Json::object();
  json.set("value", records.state.incarnation);
  if (records.identity) {
    json.set("fleet", records.identity->fleet);
    json.set("node", records.identity->node);
    if (!records.identity->machine_id.empty()) json.set("machineId", records.identity->machine_id);
    if (!records.identity->hardware_serial.empty()) json.set("hardwareSerial", records.identity->hardware_serial);
  }
  if (!records.lost.empty()) json.set("lost", records.lost);
  if (!records.lost_before.empty()) json.set("lostBefore", records.lost_before);
  return json.dump();
}

std::string encode_boot(const std::string& boot_id, const TermHistory& runs, std::string_view lost) {
  Json json = Json::object();
  json.set("value", boot_id);
  json.set("runs", runs.to_json());
  if (!lost.empty()) json.set("lost", lost);
  return json.dump();
}

Status note_damage(Store& store, const std::string& boot_id) {
  store.put(Table::meta, std::string(kBootKey), encode_boot(boot_id, {}, kStoreDamaged));
  return store.commit();
}

Result<AgentRecords> decode_records(const std::vector<Record>& records) {
  AgentRecords out;
  for (const Record& record : records) {
    if (const Status read = decode_record(record, out); !read.is_success()) return read;
  }
  if (out.state.incarnation.empty() && !out.state.slots.empty()) {
    return Status::error("meta incarnation: missing, but there are slots; the store is damaged");
  }
  return out;
}

}  // namespace berth
