// ConfigMaps and Secrets. No finding shows a value of a Secret: findings are printed and logged.
#include <algorithm>

#include "core/api/config_objects.h"
#include "core/api/decode_parts.h"
#include "core/base64.h"
#include "core/json/members.h"

namespace berth {

namespace {

constexpr std::size_t kKeyBytesMax = 253;
constexpr std::string_view kServiceAccountAnnotation = "kubernetes.io/service-account.name";

// apimachinery validation.IsConfigMapKey; empty: it is one.
std::string why_no_config_key(std::string_view key) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  if (key.size() > kKeyBytesMax) return "the key must be at most 253 bytes long";
  if (key.empty() || !std::all_of(key.begin(), key.end(), is_good)) {
    return "the key must consist of letters, digits, '-', '_' and '.'";
  }
  if (key == ".") return "the key must not be '.'";
  if (key == "..") return "the key must not be '..'";
  return key.starts_with("..") ? "the key must not start with '..'" : "";
}

enum class Form { text, base64 };

// Reads the members of one map, and adds their bytes to `values`, which has those read before.
void read_values(FieldReader& reader, std::string_view field, Form form, std::map<std::string, std::string>& values,
                 std::string_view other = {}) {
  const Json* map = reader.take(field);
  if (map == nullptr) return;
  if (!map->is_object()) return reader.error(field, "expected an object with a value for each key");
  for (const auto& [key, value] : map->as_object()) {
    const std::string path = member_path(reader.path_of(field), key);
    if (const std::string why = why_no_config_key(key); !why.empty()) reader.findings().rule(path, why);
    if (!value.is_string() && !value.is_null()) {
      reader.findings().error(
          path, form == Form::text ? "expected a string; put the value in quotes" : "expected a string in base64");
      continue;
    }
    Result<std::string> bytes = value.is_null() ? std::string() : value.as_string();  // null is empty, as in Go
    if (form == Form::base64) bytes = from_base64(*bytes);
    if (!bytes) {
      reader.findings().error(path, bytes.error().message());
    } else if (!other.empty() && values.contains(key)) {
      reader.findings().rule(path, "the key is in " + std::string(other) + " too; keep one");
    } else {
      values.insert_or_assign(key, std::move(*bytes));
    }
  }
}

void check_size(FieldReader& reader, std::string_view field, const std::map<std::string, std::string>& values) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : values) bytes += value.size();
  if (bytes <= kConfigBytesMax) return;
  reader.rule(field, "the values have " + std::to_string(bytes) +
                         " bytes, must be at most 1 MiB (1048576); move large data to a volume");
}

// A type's keys that must be there.
struct TypedKeys {
  std::string_view type;
  std::initializer_list<std::string_view> keys;
  bool any = false;   // one of them is enough
  bool json = false;  // the value is JSON
};

// pkg/apis/core/validation ValidateSecret.
void check_type(FieldReader& reader, const Secret& secret, const std::map<std::string, std::string>& values) {
  static const TypedKeys kTyped[]{
      {"kubernetes.io/dockercfg", {".dockercfg"}, false, true},
      {"kubernetes.io/dockerconfigjson", {".dockerconfigjson"}, false, true},
      {"kubernetes.io/basic-auth", {"username", "password"}, true, false},
      {"kubernetes.io/ssh-auth", {"ssh-privatekey"}, false, false},
      {"kubernetes.io/tls", {"tls.crt", "tls.key"}, false, false},
  };
  if (secret.type == "kubernetes.io/service-account-token") {
    const Labels& annotations = secret.metadata.annotations.get();
    const auto account = annotations.find(std::string(kServiceAccountAnnotation));
    if (account == annotations.end() || account->second.empty()) {
      reader.rule("metadata", "the annotation " + std::string(kServiceAccountAnnotation) +
                                  " is missing, which a Secret of this type must have");
    }
  }
  const auto typed = std::find_if(std::begin(kTyped), std::end(kTyped),
                                  [&](const TypedKeys& each) { return each.type == secret.type; });
  if (typed == std::end(kTyped)) return;
  const auto has = [&](std::string_view key) { return values.contains(std::string(key)); };
  if (typed->any && std::any_of(typed->keys.begin(), typed->keys.end(), has)) return;
  for (const std::string_view key : typed->keys) {
    const std::string path = member_path("data", key);
    const auto found = values.find(std::string(key));
    if (found == values.end() || (secret.type == "kubernetes.io/ssh-auth" && found->second.empty())) {
      reader.findings().rule(path, "missing; a Secret of type " + secret.type + " must have it");
    } else if (typed->json && !Json::parse(found->second, {.bytes = kConfigBytesMax, .depth = 64})) {
      reader.findings().rule(path, "expected JSON, as docker login writes it");
    }
  }
}

bool is_immutable(const Json& manifest) {
  const Json& value = member(manifest, "immutable");
  return value.is_bool() && value.as_bool();
}

bool has_changed(const Json& before, const Json& now, std::string_view field) {
  // Absent and empty are alike; the order of keys does not count.
  const auto sorted = [field](const Json& manifest) {
    Json::Object members;
    if (const Json& map = member(manifest, field); map.is_object()) members = map.as_object();
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return members;
  };
  return sorted(before) != sorted(now);
}

}  // namespace

Result<ConfigMap> decode_config_map(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  ConfigMap map;
  decode::read_head(reader, Kind::config_map, map.metadata);
  reader.read_bool("immutable", map.immutable);
  std::map<std::string, std::string> values;
  read_values(reader, "binaryData", Form::base64, values);
  read_values(reader, "data", Form::text, values, "binaryData");
  check_size(reader, "data", values);
  reader.finish();
  return decode::conclude(Kind::config_map, std::move(map), json, findings, warnings);
}

Result<Secret> decode_secret(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  Secret secret;
  decode::read_head(reader, Kind::secret, secret.metadata);
  reader.read_bool("immutable", secret.immutable);
  reader.read_string("type", secret.type);
  if (secret.type.empty()) secret.type = "Opaque";
  std::map<std::string, std::string> values;
  read_values(reader, "data", Form::base64, values);
  read_values(reader, "stringData", Form::text, values);
  check_size(reader, "data", values);
  check_type(reader, secret, values);
  reader.finish();
  return decode::conclude(Kind::secret, std::move(secret), json, findings, warnings);
}

Json with_merged_string_data(Json manifest) {
  const Json* type = manifest.find("type");
  if (type == nullptr || type->is_null() || *type == Json("")) manifest.set("type", "Opaque");
  const Json strings = member(manifest, "stringData");
  const Json data = member(manifest, "data");
  if (!strings.is_object() || !(data.is_null() || data.is_object())) return manifest;
  Json merged = data.is_null() ? Json::object() : data;
  for (const auto& [key, value] : strings.as_object()) {
    if (!value.is_string()) return manifest;
    merged.set(key, to_base64(value.as_string()));
  }
  manifest.erase("stringData");
  manifest.set("data", std::move(merged));
  return manifest;
}

Status check_config_update(Kind kind, const Json& before, const Json& now) {
  if (kind == Kind::secret && before.string_at("type") != now.string_at("type")) {
    return Status::error("type: is immutable, is \"" + before.string_at("type") +
                         "\"; delete the Secret first, or use another name");
  }
  if (!is_immutable(before)) return Status::ok();
  if (!is_immutable(now)) {
    return Status::error("immutable: cannot be unset once it is true; delete the object first, or use another name");
  }
  for (const std::string_view field : {"data", "binaryData"}) {
    if (!has_changed(before, now, field)) continue;
    return Status::error(std::string(field) +
                         ": cannot change, since the object is immutable; delete it first, or use another name");
  }
  return Status::ok();
}

std::map<std::string, std::string> values_of(Kind kind, const Json& manifest) {
  std::map<std::string, std::string> values;
  for (const std::string_view field : {"binaryData", "data"}) {
    const Json& map = member(manifest, field);
    if (!map.is_object()) continue;
    for (const auto& [key, value] : map.as_object()) {
      const std::string text = value.is_string() ? value.as_string() : std::string();
      const bool is_text = field == "data" && kind == Kind::config_map;
      values.insert_or_assign(key, is_text ? text : from_base64(text).value_or(""));
    }
  }
  return values;
}

Json with_sizes_only(Kind kind, Json manifest) {
  const std::map<std::string, std::string> values = values_of(kind, manifest);
  for (const std::string_view field : {"binaryData", "data"}) {
    Json* map = manifest.find(field);
    if (map == nullptr || !map->is_object()) continue;
    for (auto& [key, value] : map->as_object()) {
      const auto found = values.find(key);
      value = Json(static_cast<std::int64_t>(found == values.end() ? 0 : found->second.size()));
    }
  }
  manifest.erase("stringData");
  // A copy of the whole manifest, as kubectl apply leaves it.
  Json* metadata = manifest.find("metadata");
  Json* annotations = metadata == nullptr ? nullptr : metadata->find("annotations");
  if (annotations != nullptr && annotations->is_object())
    annotations->erase("kubectl.kubernetes.io/last-applied-configuration");
  return manifest;
}

}  // namespace berth
