#include "firmware-host/agent/images/json_fields.h"

#include "firmware-host/agent/images/image_reference.h"

namespace berth {

namespace {

std::string indexed(const std::string& path, std::size_t index) { return path + "[" + std::to_string(index) + "]"; }

}  // namespace

JsonFields::JsonFields(const Json* object, std::string path, Limits limits, Status& fault)
    : object_(object), path_(std::move(path)), limits_(limits), fault_(&fault) {
  if (object_ && !object_->is_object()) {
    fail(path_.empty() ? "the document" : path_, "an object");
    object_ = nullptr;
  }
}

std::string JsonFields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void JsonFields::fail(const std::string& path, const std::string& what) {
  if (fault_->is_success()) *fault_ = Status::error(path + " must be " + what);
}

const Json* JsonFields::find(std::string_view name) const {
  const Json* found = object_ ? object_->find(name) : nullptr;
  return found && found->is_null() ? nullptr : found;
}

std::string JsonFields::checked(const Json& value, const std::string& path) {
  if (!value.is_string()) {
    fail(path, "a string");
    return {};
  }
  if (value.as_string().size() > limits_.string) {
    fail(path, "no longer than " + std::to_string(limits_.string) + " bytes");
    return {};
  }
  return value.as_string();
}

std::string JsonFields::string(std::string_view name, bool required) {
  const Json* found = find(name);
  std::string text = found ? checked(*found, path_of(name)) : "";
  if (text.empty() && required) fail(path_of(name), "a string that is not empty");
  return text;
}

std::int64_t JsonFields::size(std::string_view name) {
  const Json* found = find(name);
  if (found && found->is_integer() && found->as_int() >= 0) return found->as_int();
  fail(path_of(name), "a number of bytes");
  return 0;
}

const Json* JsonFields::list(std::string_view name, Json::Type type, const char* what) {
  const Json* found = find(name);
  if (!found) return nullptr;
  if (found->type() != type) {
    fail(path_of(name), what);
    return nullptr;
  }
  const std::size_t entries = found->is_array() ? found->as_array().size() : found->as_object().size();
  if (entries <= limits_.entries) return found;
  fail(path_of(name), "no longer than " + std::to_string(limits_.entries) + " entries");
  return nullptr;
}

std::vector<std::string> JsonFields::strings(std::string_view name) {
  std::vector<std::string> texts;
  const Json* found = list(name, Json::Type::array, "an array of strings");
  if (!found) return texts;
  for (const Json& value : found->as_array()) texts.push_back(checked(value, indexed(path_of(name), texts.size())));
  return texts;
}

std::vector<std::string> JsonFields::keys(std::string_view name) {
  std::vector<std::string> texts;
  const Json* found = list(name, Json::Type::object, "an object");
  if (!found) return texts;
  for (const auto& [key, value] : found->as_object()) texts.push_back(checked(Json(key), path_of(name)));
  return texts;
}

std::vector<std::pair<std::string, std::string>> JsonFields::map(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const Json* found = list(name, Json::Type::object, "an object of strings");
  if (!found) return pairs;
  for (const auto& [key, value] : found->as_object()) {
    pairs.emplace_back(key, checked(value, path_of(name) + "[\"" + key + "\"]"));
  }
  return pairs;
}

std::string JsonFields::digest(std::string_view name) {
  std::string text = string(name);
  if (is_sha256_digest(text)) return text;
  fail(path_of(name), "a sha256 digest, got \"" + text + "\"");
  return {};
}

JsonFields JsonFields::object(std::string_view name, bool required) {
  const Json* found = find(name);
  if (!found && required) fail(path_of(name), "an object");
  return {found, path_of(name), limits_, *fault_};
}

std::vector<JsonFields> JsonFields::objects(std::string_view name) {
  std::vector<JsonFields> all;
  const Json* found = list(name, Json::Type::array, "an array of objects");
  if (!found) return all;
  for (const Json& value : found->as_array()) {
    if (!value.is_object()) fail(indexed(path_of(name), all.size()), "an object");
    all.emplace_back(&value, indexed(path_of(name), all.size()), limits_, *fault_);
  }
  return all;
}

}  // namespace berth
