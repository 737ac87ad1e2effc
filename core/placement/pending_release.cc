#include "core/placement/pending_release.h"

#include <charconv>

#include "core/json/json.h"

namespace berth {

namespace {

std::int64_t amount(const Json& json, std::string_view key) {
  const Json* text = json.find(key);
  std::int64_t value = 0;
  if (text != nullptr && text->is_string()) {
    const std::string& digits = text->as_string();
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
  }
  return value;
}

}  // namespace

std::string encode_charge(const Resources& resources) {
  Json json = Json::object();
  json.set("milliCpu", std::to_string(resources.milli_cpu));
  json.set("memory", std::to_string(resources.memory));
  json.set("ephemeralStorage", std::to_string(resources.ephemeral_storage));
  Json scalar = Json::object();
  for (const auto& [name, value] : resources.scalar) scalar.set(name, std::to_string(value));
  if (!resources.scalar.empty()) json.set("scalar", std::move(scalar));
  return json.dump();
}

Resources decode_charge(std::string_view text) {
  Resources resources;
  const Result<Json> json = Json::parse(text);
  if (!json || !json->is_object()) return resources;
  resources.milli_cpu = amount(*json, "milliCpu");
  resources.memory = amount(*json, "memory");
  resources.ephemeral_storage = amount(*json, "ephemeralStorage");
  if (const Json* scalar = json->find("scalar"); scalar != nullptr && scalar->is_object()) {
    for (const auto& [name, value] : scalar->as_object()) resources.scalar[name] = amount(*scalar, name);
  }
  return resources;
}

}  // namespace berth
