#include "tests/conformance/verdict.h"

namespace berth {

const Json& at(const Json& json, std::string_view key) {
  static const Json kAbsent;
  const Json* found = json.is_object() ? json.find(key) : nullptr;
  return found == nullptr ? kAbsent : *found;
}

std::string text(const Json& json) { return json.is_string() ? json.as_string() : ""; }

const Json::Array& list(const Json& json) {
  static const Json::Array kEmpty;
  return json.is_array() ? json.as_array() : kEmpty;
}

std::vector<std::string> strings(const Json& json) {
  std::vector<std::string> found;
  for (const Json& each : list(json)) found.push_back(text(each));
  return found;
}

std::int64_t number(const Json& json) { return json.is_integer() ? json.as_int() : 0; }

bool flag(const Json& json) { return json.is_bool() && json.as_bool(); }

std::string show(const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts) line += (line.empty() ? "" : ", ") + part;
  return "[" + line + "]";
}

}  // namespace berth
