#include "core/json/findings.h"

#include <algorithm>

#include "core/json/utf8.h"

namespace berth {
namespace {

constexpr std::string_view kUnknownField = "unknown field";
constexpr std::size_t kShownMax = 64;  // bytes of the document's text in a message

bool is_simple_key(std::string_view key) {
  return !key.empty() && key.size() <= kShownMax && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

std::string member_path(std::string_view path, std::string_view key) {
  std::string text(path);
  if (is_simple_key(key)) {
    if (!text.empty()) text += '.';
    return text += key;
  }
  return text += "[" + Json(shorten(key, kShownMax)).dump() + "]";
}

std::string item_path(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

std::string show_found(const Json& value) {
  switch (value.type()) {
    case Json::Type::array: return "a list";
    case Json::Type::object: return "an object";
    case Json::Type::string: return Json(shorten(value.as_string(), kShownMax)).dump();
    default: return value.dump();
  }
}

void Findings::error(std::string_view path, std::string_view text) {
  if (++errors_count_ > kMax) return;
  errors_.push_back(path.empty() ? std::string(text) : std::string(path) + ": " + std::string(text));
}

bool Findings::fits(std::string_view path, const Json& value) {
  if (value.is_string() && value.as_string().size() > bounds_.bytes) {
    error(path, "expected a string of at most " + std::to_string(bounds_.bytes) + " bytes, got " +
                    std::to_string(value.as_string().size()));
    return false;
  }
  const std::size_t entries = value.is_array()    ? value.as_array().size()
                              : value.is_object() ? value.as_object().size()
                                                  : 0;
  if (entries <= bounds_.entries) return true;
  error(path, "expected at most " + std::to_string(bounds_.entries) + " entries, got " + std::to_string(entries));
  return false;
}

bool Findings::rule(std::string_view path, std::string_view text) {
  if (rules_ == Rules::off) return false;
  error(path, text);
  return true;
}

void Findings::warn(std::string_view path, std::string_view text) {
  if (++warnings_count_ > kMax) return;
  warnings_.push_back(path.empty() ? std::string(text) : std::string(path) + ": " + std::string(text));
}

void Findings::unknown(std::string_view path, std::string_view hint) {
  has_unknown_ = true;
  const std::string text = std::string(kUnknownField) + std::string(hint);
  if (unknown_ == Unknown::refuse) {
    error(path, text);
  } else {
    warn(path, text);
  }
}

Status Findings::status() const {
  if (errors_count_ == 0) return {};
  if (is_first_enough_) return Status(Code::error, {errors_.front()});
  Status status(Code::error, errors_);
  if (errors_count_ > kMax) status.add_reason("and " + std::to_string(errors_count_ - kMax) + " more errors");
  return status;
}

std::vector<std::string> Findings::warnings() const {
  std::vector<std::string> all = warnings_;
  if (warnings_count_ > kMax) all.push_back("and " + std::to_string(warnings_count_ - kMax) + " more warnings");
  return all;
}

bool is_about_unknown_field(std::string_view warning) {
  return warning.find(": " + std::string(kUnknownField)) != std::string_view::npos;
}

}  // namespace berth
