#include "core/api/field_reader.h"

namespace berth {

std::string_view type_name(const Json& json) {
  switch (json.type()) {
    case Json::Type::null: return "null";
    case Json::Type::boolean: return "a boolean";
    case Json::Type::number: return "a number";
    case Json::Type::string: return "a string";
    case Json::Type::array: return "a list";
    case Json::Type::object: return "an object";
  }
  return "?";
}

FieldReader::FieldReader(const Json& json, std::string path, Findings& findings)
    : json_(json), path_(std::move(path)), findings_(findings) {
  if (!json.is_object()) {
    findings_.errors.push_back((path_.empty() ? std::string("document") : path_) + ": an object is wanted, found " +
                               std::string(type_name(json)));
  }
}

std::string FieldReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void FieldReader::fail(std::string_view key, const std::string& what) {
  findings_.errors.push_back(path_of(key) + ": " + what);
}

void FieldReader::warn(std::string_view key, const std::string& what) {
  findings_.warnings.push_back(path_of(key) + ": " + what);
}

const Json* FieldReader::value(std::string_view key) {
  read_.emplace(key);
  const Json* found = json_.is_object() ? json_.find(key) : nullptr;
  return found == nullptr || found->is_null() ? nullptr : found;
}

const Json* FieldReader::find(std::string_view key, Json::Type type, std::string_view wanted) {
  const Json* found = value(key);
  if (found == nullptr || found->type() == type) return found;
  fail(key, std::string(wanted) + " is wanted, found " + std::string(type_name(*found)));
  return nullptr;
}

std::string FieldReader::text(std::string_view key, std::string_view fallback) {
  const Json* found = find(key, Json::Type::string, "a string");
  return found == nullptr ? std::string(fallback) : found->as_string();
}

std::string FieldReader::required_text(std::string_view key) {
  if (!has(key)) {
    fail(key, "is missing");
    return {};
  }
  const std::string found = text(key);
  if (found.empty() && value(key)->is_string()) fail(key, "must not be empty");
  return found;
}

std::optional<std::string> FieldReader::optional_text(std::string_view key) {
  const Json* found = find(key, Json::Type::string, "a string");
  return found == nullptr ? std::nullopt : std::optional(found->as_string());
}

std::string FieldReader::word(std::string_view key, std::initializer_list<std::string_view> words) {
  const std::string found = text(key, *words.begin());
  std::string list;
  for (std::string_view word : words) {
    if (found == word) return found;
    list += (list.empty() ? "" : ", ") + std::string(word);
  }
  fail(key, "\"" + found + "\" is not one of " + list);
  return std::string(*words.begin());
}

bool FieldReader::boolean(std::string_view key, bool fallback) {
  const Json* found = find(key, Json::Type::boolean, "true or false");
  return found == nullptr ? fallback : found->as_bool();
}

std::int64_t FieldReader::integer(std::string_view key, std::int64_t fallback, std::int64_t lowest,
                                  std::int64_t highest) {
  const Json* found = find(key, Json::Type::number, "a whole number");
  if (found == nullptr) return fallback;
  if (!found->is_integer() || found->as_int() < lowest || found->as_int() > highest) {
    fail(key, "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest) + " is wanted");
    return fallback;
  }
  return found->as_int();
}

std::optional<Quantity> FieldReader::quantity(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string() && !found->is_number()) {
    fail(key, "a quantity such as \"500m\" or \"64Mi\" is wanted, found " + std::string(type_name(*found)));
    return std::nullopt;
  }
  Result<Quantity> parsed = Quantity::parse(found->is_string() ? found->as_string() : found->dump());
  if (!parsed) {
    fail(key, parsed.error().message());
    return std::nullopt;
  }
  if (*parsed < Quantity()) {
    fail(key, "must not be negative");
    return std::nullopt;
  }
  return *parsed;
}

std::vector<std::string> FieldReader::texts(std::string_view key) {
  std::vector<std::string> list;
  const Json* found = find(key, Json::Type::array, "a list of strings");
  if (found == nullptr) return list;
  for (std::size_t index = 0; index < found->as_array().size(); ++index) {
    const Json& entry = found->as_array()[index];
    if (entry.is_string()) {
      list.push_back(entry.as_string());
    } else {
      fail(std::string(key) + "[" + std::to_string(index) + "]",
           "a string is wanted, found " + std::string(type_name(entry)));
    }
  }
  return list;
}

std::map<std::string, std::string> FieldReader::text_map(std::string_view key) {
  std::map<std::string, std::string> map;
  object(key, [&](FieldReader& inner) {
    for (const auto& [name, entry] : inner.json_.as_object()) map[name] = inner.text(name);
  });
  return map;
}

std::map<std::string, Quantity> FieldReader::quantity_map(std::string_view key) {
  std::map<std::string, Quantity> map;
  object(key, [&](FieldReader& inner) {
    for (const auto& [name, entry] : inner.json_.as_object()) {
      if (std::optional<Quantity> amount = inner.quantity(name)) map[name] = *amount;
    }
  });
  return map;
}

bool FieldReader::object(std::string_view key, const std::function<void(FieldReader&)>& read) {
  const Json* found = find(key, Json::Type::object, "an object");
  if (found == nullptr) return false;
  FieldReader inner(*found, path_of(key), findings_);
  read(inner);
  inner.finish();
  return true;
}

std::size_t FieldReader::each(std::string_view key, const std::function<void(FieldReader&)>& read) {
  const Json* found = find(key, Json::Type::array, "a list");
  if (found == nullptr) return 0;
  for (std::size_t index = 0; index < found->as_array().size(); ++index) {
    const Json& entry = found->as_array()[index];
    FieldReader inner(entry, path_of(key) + "[" + std::to_string(index) + "]", findings_);
    if (!entry.is_object()) continue;
    read(inner);
    inner.finish();
  }
  return found->as_array().size();
}

void FieldReader::accept(std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) read_.emplace(key);
}

void FieldReader::not_honoured(std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) {
    if (has(key)) warn(key, "not honoured yet; the pod is placed as if it were not there");
  }
}

void FieldReader::finish() {
  if (!json_.is_object()) return;
  for (const auto& [key, entry] : json_.as_object()) {
    if (!read_.contains(key)) warn(key, "unknown field");
  }
}

}  // namespace berth
