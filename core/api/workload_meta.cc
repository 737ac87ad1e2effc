#include "core/api/workload_meta.h"

#include <algorithm>

#include "core/api/decode_parts.h"
#include "core/api/timestamp.h"

namespace berth {
namespace {

void read_owner(FieldReader& reader, OwnerReference& out) {
  reader.read_string("apiVersion", out.api_version);
  reader.read_string("kind", out.kind);
  reader.read_string("name", out.name);
  reader.read_string("uid", out.uid.edit());
  reader.read_bool("controller", out.controller);
  reader.read_bool("blockOwnerDeletion", out.block_owner_deletion);
}

void set_text(Json& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, text);
}

void set_time(Json& object, std::string_view key, const OptionalTime& time) {
  if (time) object.set(key, to_timestamp(*time));
}

}  // namespace

const OwnerReference* controller_of(const WorkloadMeta& metadata) {
  for (const OwnerReference& owner : metadata.owner_references.get()) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

const Condition* find_condition(const Conditions& conditions, std::string_view type) {
  const auto found =
      std::find_if(conditions.begin(), conditions.end(), [&](const Condition& each) { return each.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

void set_condition(Conditions& conditions, Condition condition) {
  for (Condition& each : conditions) {
    if (each.type != condition.type) continue;
    each = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

void remove_condition(Conditions& conditions, std::string_view type) {
  std::erase_if(conditions, [&](const Condition& each) { return each.type == type; });
}

Json to_json(const std::vector<OwnerReference>& references) {
  Json list = Json::array();
  for (const OwnerReference& each : references) {
    Json owner = Json::object();
    owner.set("apiVersion", each.api_version).set("kind", each.kind).set("name", each.name);
    owner.set("uid", std::string(each.uid));
    if (each.controller) owner.set("controller", true);
    if (each.block_owner_deletion) owner.set("blockOwnerDeletion", true);
    list.push_back(std::move(owner));
  }
  return list;
}

Json to_json(const Conditions& conditions) {
  Json list = Json::array();
  for (const Condition& each : conditions) {
    Json condition = Json::object();
    condition.set("type", each.type).set("status", each.status);
    set_time(condition, "lastProbeTime", each.last_probe);
    set_time(condition, "lastHeartbeatTime", each.last_heartbeat);
    set_time(condition, "lastUpdateTime", each.last_update);
    set_time(condition, "lastTransitionTime", each.last_transition);
    set_text(condition, "reason", each.reason);
    set_text(condition, "message", each.message);
    if (each.observed_generation != 0) condition.set("observedGeneration", each.observed_generation);
    list.push_back(std::move(condition));
  }
  return list;
}

Json to_json(const Labels& labels) {
  Json object = Json::object();
  for (const auto& [key, value] : labels) object.set(key, value);
  return object;
}

Json to_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

void set_unless_zero(Json& json, std::string_view key, std::int64_t number) {
  if (number != 0) json.set(key, number);
}

namespace decode {

bool read_time(FieldReader& reader, std::string_view key, OptionalTime& out) {
  std::string text;
  if (!reader.read_string(key, text)) return false;
  const std::optional<std::int64_t> time = parse_timestamp(text);
  if (!time) {
    reader.error(key, "expected a time such as \"2025-05-01T00:03:26Z\", got " + show_found(Json(text)));
    return false;
  }
  out = time;
  return true;
}

void read_workload_head(FieldReader& reader, std::string_view api_version, ControlledObject& out) {
  std::string text;
  reader.read_enum("apiVersion", {api_version}, text);
  reader.read_enum("kind", {out.kind}, text);
  if (!reader.has("metadata")) reader.error("metadata", "missing; expected an object with a name");
  reader.read_object("metadata", [&out](FieldReader& reader_of_meta) {
    WorkloadMeta& meta = out.metadata;
    read_metadata(reader_of_meta, true, meta);
    reader_of_meta.read_int64("generation", meta.generation);
    read_time(reader_of_meta, "creationTimestamp", meta.created);
    read_time(reader_of_meta, "deletionTimestamp", meta.deletion);
    reader_of_meta.read_each(
        "ownerReferences", [&](FieldReader& owner) { read_owner(owner, meta.owner_references.edit().emplace_back()); });
    if (reader_of_meta.has("finalizers")) reader_of_meta.read_list("finalizers", meta.finalizers.edit());
  });
}

void read_conditions(FieldReader& status, Conditions& out) {
  status.read_each("conditions", [&](FieldReader& reader) {
    Condition& condition = out.emplace_back();
    reader.read_string("type", condition.type);
    reader.read_string("status", condition.status);
    reader.read_string("reason", condition.reason);
    reader.read_string("message", condition.message);
    reader.read_int64("observedGeneration", condition.observed_generation);
    read_time(reader, "lastProbeTime", condition.last_probe);
    read_time(reader, "lastHeartbeatTime", condition.last_heartbeat);
    read_time(reader, "lastUpdateTime", condition.last_update);
    read_time(reader, "lastTransitionTime", condition.last_transition);
  });
}

}  // namespace decode
}  // namespace berth
