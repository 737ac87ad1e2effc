#include "core/handshake/configs.h"

#include "core/api/names.h"
#include "core/base64.h"
#include "core/handshake/fields.h"
#include "core/json/json.h"

namespace berth {

namespace {

Json json_of(const ConfigRef& ref) {
  Json json = Json::object();
  json.set("kind", describe(ref.kind).name).set("name", ref.key);
  if (!ref.hash.empty()) json.set("hash", ref.hash);
  return json;
}

bool is_config_key(std::string_view key, bool with_namespace) {
  if (!with_namespace) return is_valid_name(key);
  const std::size_t slash = key.find('/');
  return slash != std::string_view::npos && is_valid_name(key.substr(0, slash)) && is_valid_name(key.substr(slash + 1));
}

ConfigRef read_ref(Fields& fields, bool with_namespace) {
  ConfigRef ref;
  const std::string kind = fields.text("kind");
  if (kind == describe(Kind::secret).name) ref.kind = Kind::secret;
  if (ref.kind != Kind::secret && kind != describe(Kind::config_map).name) {
    fields.fail("kind", "must be ConfigMap or Secret");
  }
  ref.key = fields.text("name");
  if (!is_config_key(ref.key, with_namespace)) {
    fields.fail("name", with_namespace ? "must be <namespace>/<name>" : "must be the name of an object");
  }
  if (fields.has("hash")) ref.hash = fields.id("hash");
  return ref;
}

// Calls read(inner) for each element of the optional list.
template <class Read>
void read_elements(Fields& fields, std::string_view key, std::size_t max, const Read& read) {
  if (!fields.has(key)) return;
  const Json::Array& values = fields.array(key);
  if (values.size() > max) return fields.fail(key, "must have at most " + std::to_string(max));
  for (std::size_t index = 0; index < values.size() && fields.ok(); ++index) {
    Fields inner = fields.element(key, values[index], index);
    read(inner);
    fields.merge(inner);
  }
}

}  // namespace

std::string encode(const ConfigContents& contents) {
  Json data = Json::object();
  for (const auto& [key, value] : contents.values) data.set(key, to_base64(value));
  Json json = Json::object();
  if (contents.immutable) json.set("immutable", true);
  return json.set("data", std::move(data)).dump();
}

Result<ConfigContents> decode_contents(std::string_view text) {
  const Result<Json> json = Json::parse(text, {.bytes = kConfigContentsMax, .depth = 4});
  if (!json) return json.error();
  ConfigContents contents;
  if (const Json* immutable = json->find("immutable"))
    contents.immutable = immutable->is_bool() && immutable->as_bool();
  const Json* data = json->find("data");
  if (data == nullptr || !data->is_object()) return Status::error("data: expected an object");
  for (const auto& [key, value] : data->as_object()) {
    Result<std::string> bytes = value.is_string() ? from_base64(value.as_string()) : Status::error("expected a string");
    if (!bytes) return Status::error("data: " + bytes.error().message());
    contents.values.insert_or_assign(key, std::move(*bytes));
  }
  return contents;
}

std::vector<std::string_view> config_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at == 0 || at < text.size(); at += kConfigPartBytes) {
    parts.push_back(text.substr(at, kConfigPartBytes));
  }
  return parts;
}

std::string to_text(const std::vector<ConfigRef>& refs) {
  Json list = Json::array();
  for (const ConfigRef& ref : refs) list.push_back(json_of(ref));
  return list.dump();
}

std::string to_text(const std::vector<ConfigWish>& wishes) {
  Json list = Json::array();
  for (const ConfigWish& wish : wishes) {
    Json json = json_of(wish.ref);
    if (wish.part > 0) json.set("part", static_cast<std::int64_t>(wish.part));
    list.push_back(std::move(json));
  }
  return list.dump();
}

std::string to_text(const ConfigPart& part) {
  Json json = json_of(part.ref);
  json.set("part", static_cast<std::int64_t>(part.part)).set("parts", static_cast<std::int64_t>(part.parts));
  return json.set("text", part.text).dump();
}

std::vector<ConfigRef> read_config_refs(Fields& fields, bool with_namespace) {
  std::vector<ConfigRef> refs;
  read_elements(fields, "configs", kConfigRefsMax,
                [&](Fields& inner) { refs.push_back(read_ref(inner, with_namespace)); });
  return refs;
}

std::vector<ConfigWish> read_config_wishes(Fields& fields) {
  std::vector<ConfigWish> wishes;
  read_elements(fields, "wishes", kConfigWishesMax, [&](Fields& inner) {
    ConfigWish wish{read_ref(inner, true)};
    if (inner.has("part")) wish.part = inner.u32("part");
    wishes.push_back(std::move(wish));
  });
  return wishes;
}

ConfigPart read_config_part(Fields& fields) {
  ConfigPart part;
  const Json* member = fields.find("config");
  if (member == nullptr) {
    fields.fail("config", "is missing");
    return part;
  }
  Fields inner(*member, "config.");
  part.ref = read_ref(inner, true);
  if (part.ref.hash.empty()) inner.fail("hash", "is missing");
  part.part = inner.u32("part");
  part.parts = inner.u32("parts");
  part.text = inner.text("text");
  if (part.parts == 0 || part.parts > kConfigPartsMax || part.part >= part.parts) {
    inner.fail("part", "must be below parts, which is at most " + std::to_string(kConfigPartsMax));
  }
  if (part.text.size() > kConfigPartBytes) inner.fail("text", "must have at most 40 KiB");
  fields.merge(inner);
  return part;
}

}  // namespace berth
