#include "core/json/field_reader.h"

#include <algorithm>
#include <charconv>

#include "core/check.h"
#include "core/json/did_you_mean.h"
#include "core/json/utf8.h"

namespace berth {
namespace {

bool is_empty(const Json& value) {
  if (value.is_array()) return value.as_array().empty();
  if (value.is_object()) return value.as_object().empty();
  return value.is_null();
}

std::string range_text(std::int64_t min, std::int64_t max) {
  return "an integer from " + std::to_string(min) + " to " + std::to_string(max);
}

std::string expected_text(std::string_view expected, const Json& found, std::string_view fix) {
  std::string text = "expected " + std::string(expected) + ", got " + show_found(found);
  if (!fix.empty()) text += "; " + std::string(fix);
  return text;
}

}  // namespace

FieldReader::FieldReader(const Json& value, std::string path, Findings& findings)
    : value_(&value), path_(std::move(path)), findings_(findings), is_object_(value.is_object()) {
  if (is_object_) return;
  static const Json kEmpty = Json::object();
  value_ = &kEmpty;
  findings_.error(path_, "expected an object, got " + show_found(value));
}

const Json* FieldReader::take(std::string_view key) {
  known_.push_back(key);
  const Json* member = value_->find(key);
  return member == nullptr || member->is_null() ? nullptr : member;
}

const Json* FieldReader::take_list(std::string_view key) {
  const Json* list = take(key);
  if (list == nullptr) return nullptr;
  if (list->is_array()) return findings_.fits(path_of(key), *list) ? list : nullptr;
  report_expected(key, "a list", *list, "write it in [ ]");
  return nullptr;
}

bool FieldReader::require(std::string_view key, std::string_view what) {
  if (has(key)) return true;
  if (is_object_) rule(key, "missing; expected " + std::string(what));
  return false;
}

void FieldReader::report_expected(std::string_view key, std::string_view expected, const Json& found,
                                  std::string_view fix) {
  error(key, expected_text(expected, found, fix));
}

void FieldReader::report_unknown_name(std::string_view key, std::string_view found,
                                      const std::vector<std::string_view>& names) {
  std::string expected = names.size() > 1 ? "one of " : "";
  for (std::size_t i = 0; i < names.size(); ++i) expected += (i == 0 ? "" : ", ") + std::string(names[i]);
  const std::string hint = did_you_mean(found, names);
  report_expected(key, expected, Json(found), hint.empty() ? hint : hint.substr(2));
}

bool FieldReader::read_string(std::string_view key, std::string& out) {
  const Json* value = take(key);
  if (value == nullptr) return false;
  if (!value->is_string()) {
    report_expected(key, "a string", *value, value->is_number() || value->is_bool() ? "put it in quotes" : "");
    return false;
  }
  if (!findings_.fits(path_of(key), *value)) return false;
  out = value->as_string();
  return true;
}

bool FieldReader::read_bool(std::string_view key, bool& out) {
  const Json* value = take(key);
  if (value == nullptr) return false;
  if (!value->is_bool()) {
    report_expected(key, "true or false", *value, value->is_string() ? "write it without quotes" : "");
    return false;
  }
  out = value->as_bool();
  return true;
}

bool FieldReader::read_int32(std::string_view key, std::int32_t& out, std::int32_t min, std::int32_t max) {
  const Json* value = take(key);
  if (value == nullptr) return false;
  using Limits = std::numeric_limits<std::int32_t>;
  if (!value->is_integer() || value->as_int() < Limits::min() || value->as_int() > Limits::max()) {
    report_expected(key, range_text(min, max), *value, value->is_string() ? "write a number, without quotes" : "");
    return false;
  }
  const auto number = static_cast<std::int32_t>(value->as_int());
  if (number < min || number > max) {
    if (findings_.rule(path_of(key), expected_text(range_text(min, max), *value, ""))) return false;
  }
  out = number;
  return true;
}

bool FieldReader::read_int64(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  const Json* value = take(key);
  if (value == nullptr) return false;
  std::int64_t number = 0;
  bool good = false;
  if (value->is_integer()) {
    number = value->as_int();
    good = true;
  } else if (value->is_string() && !value->as_string().empty()) {
    const std::string& text = value->as_string();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    good = error == std::errc{} && end == text.data() + text.size();
  }
  if (!good) {
    report_expected(key, range_text(min, max), *value, "");
    return false;
  }
  if (number < min || number > max) {
    if (findings_.rule(path_of(key), expected_text(range_text(min, max), *value, ""))) return false;
  }
  out = number;
  return true;
}

bool FieldReader::read_strings(std::string_view key, std::map<std::string, std::string>& out) {
  const Json* value = take(key);
  if (value == nullptr) return false;
  FieldReader members(*value, path_of(key), findings_);
  if (!value->is_object() || !findings_.fits(path_of(key), *value)) return false;
  std::map<std::string, std::string> strings;
  bool good = true;
  for (const auto& [name, text] : value->as_object()) {
    if (text.is_string()) {
      if (findings_.fits(members.path_of(name), text)) {
        strings.emplace(name, text.as_string());
      } else {
        good = false;
      }
      continue;
    }
    members.report_expected(name, "a string", text, text.is_number() || text.is_bool() ? "put it in quotes" : "");
    good = false;
  }
  if (good) out = std::move(strings);
  return good;
}

bool FieldReader::read_keys(std::string_view key, std::vector<std::string>& out) {
  const Json* value = take(key);
  if (value == nullptr) return false;
  if (!value->is_object()) {
    report_expected(key, "an object", *value, "");
    return false;
  }
  if (!findings_.fits(path_of(key), *value)) return false;
  std::vector<std::string> keys;
  for (const auto& [name, ignored] : value->as_object()) {
    if (!findings_.fits(path_of(key), Json(name))) return false;
    keys.push_back(name);
  }
  out = std::move(keys);
  return true;
}

bool FieldReader::read_list(std::string_view key, std::vector<std::string>& out) {
  const Json* list = take_list(key);
  if (list == nullptr) return false;
  std::vector<std::string> strings;
  const std::size_t count = list->as_array().size();
  for (std::size_t i = 0; i < count; ++i) {
    const Json& item = list->as_array()[i];
    if (item.is_string()) {
      if (findings_.fits(item_path(path_of(key), i), item)) strings.push_back(item.as_string());
      continue;
    }
    findings_.error(item_path(path_of(key), i), "expected a string, got " + show_found(item));
  }
  if (strings.size() != count) return false;
  out = std::move(strings);
  return true;
}

bool FieldReader::read_checked(std::string_view key, std::string& out, bool (*valid)(std::string_view),
                               std::string_view form) {
  std::string text;
  if (!read_string(key, text)) return false;
  if (!valid(text) && findings_.rule(path_of(key), expected_text(form, Json(text), ""))) return false;
  out = std::move(text);
  return true;
}

bool FieldReader::read_enum(std::string_view key, std::initializer_list<std::string_view> names, std::string& out) {
  std::string text;
  if (!read_string(key, text)) return false;
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    report_unknown_name(key, text, names);
    return false;
  }
  out = std::move(text);
  return true;
}

void FieldReader::carry(std::initializer_list<std::string_view> keys) { known_.insert(known_.end(), keys); }

void FieldReader::unsupported(std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) {
    const Json* value = take(key);
    if (value != nullptr && !is_empty(*value)) warn(key, "not supported yet; ignored by scheduling");
  }
}

void FieldReader::finish() {
  if (findings_.keys() != nullptr) {
    for (const std::string_view key : known_) findings_.keys()->push_back(path_of(key));
  }
  if (!findings_.readers_check()) return;
  for (const Json::Member& member : value_->as_object()) {
    if (std::find(known_.begin(), known_.end(), member.first) != known_.end()) continue;
    findings_.unknown(path_of(member.first), did_you_mean(member.first, known_));
  }
}

}  // namespace berth
