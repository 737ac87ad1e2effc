#include "firmware-host/ctl/fields.h"

namespace berth {

const Json* field(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* at = &object;
  for (const std::string_view name : path) {
    if (at == nullptr || !at->is_object()) return nullptr;
    at = at->find(name);
  }
  return at;
}

std::string text_field(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = field(object, path);
  if (value == nullptr) return {};
  if (value->is_string()) return value->as_string();
  return value->is_number() || value->is_bool() ? value->dump() : std::string();
}

const Json::Array& list_field(const Json& object, std::initializer_list<std::string_view> path) {
  static const Json::Array kNone;
  const Json* value = field(object, path);
  return value != nullptr && value->is_array() ? value->as_array() : kNone;
}

const Json::Object& object_field(const Json& object, std::initializer_list<std::string_view> path) {
  static const Json::Object kNone;
  const Json* value = field(object, path);
  return value != nullptr && value->is_object() ? value->as_object() : kNone;
}

bool true_field(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = field(object, path);
  return value != nullptr && value->is_bool() && value->as_bool();
}

std::string join_texts(const Json::Array& list, std::string_view separator) {
  std::string text;
  for (const Json& item : list) {
    if (!text.empty()) text += separator;
    text += item.is_string() ? item.as_string() : item.dump();
  }
  return text;
}

std::string join_pairs(const Json::Object& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    if (!text.empty()) text += ',';
    text += key + "=" + (value.is_string() ? value.as_string() : value.dump());
  }
  return text;
}

std::string taint_text(const Json& taint) {
  std::string text = text_field(taint, {"key"});
  if (const std::string value = text_field(taint, {"value"}); !value.empty()) text += "=" + value;
  return text + ":" + text_field(taint, {"effect"});
}

bool has_condition(const Json& object, std::string_view type) {
  for (const Json& condition : list_field(object, {"status", "conditions"})) {
    if (text_field(condition, {"type"}) == type) return text_field(condition, {"status"}) == "True";
  }
  return false;
}

}  // namespace berth
