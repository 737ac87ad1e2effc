#include "tests/bench/workload.h"

#include <fstream>
#include <iterator>
#include <regex>

namespace berth::bench {

namespace {

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// Replaces {A+i} and {A+i%M}, where A and M are numbers.
void replace_sums(std::string& text, std::size_t number) {
  static const std::regex sum(R"(\{(\d+)\+i(?:%(\d+))?\})");
  for (std::smatch found; std::regex_search(text, found, sum);) {
    const std::size_t added = found[2].matched ? number % std::stoul(found[2]) : number;
    text.replace(static_cast<std::size_t>(found.position()), static_cast<std::size_t>(found.length()),
                 std::to_string(std::stoul(found[1]) + added));
  }
}

void fill_in(Json& json, std::size_t number) {
  if (json.is_array()) {
    for (Json& each : json.as_array()) fill_in(each, number);
  } else if (json.is_object()) {
    for (auto& [key, value] : json.as_object()) fill_in(value, number);
  } else if (json.is_string()) {
    std::string text = json.as_string();
    replace_all(text, "{i}", std::to_string(number));
    replace_all(text, "{zone}", std::to_string(number % 3));
    if (text.find("+i") != std::string::npos) replace_sums(text, number);
    json = Json(std::move(text));
  }
}

}  // namespace

Result<Workload> Workload::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::error(path + ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<Json> json = Json::parse(text);
  if (!json) return Status::error(path + ": " + json.error().message());
  Workload workload;
  const Json* name = json->find("name");
  if (name == nullptr || !name->is_string()) return Status::error(path + ": name: missing; give the workload's name");
  workload.name_ = name->as_string();
  workload.description_ = std::move(*json);
  return workload;
}

std::size_t Workload::count(const char* what, std::size_t nodes) const {
  const Json* value = description_.find(what);
  if (value == nullptr) return 0;
  if (value->is_integer()) return static_cast<std::size_t>(value->as_int());
  std::size_t of = 0;
  std::size_t found = 0;
  for (const auto& [bound, number] : value->as_object()) {
    const std::size_t from = std::stoul(bound);
    if (from > nodes || from < of) continue;
    of = from;
    found = static_cast<std::size_t>(number.as_int());
  }
  return found;
}

Json Workload::object(const char* what, std::size_t number) const {
  const Json* value = description_.find(what);
  if (value == nullptr) return {};
  Json object = *value;
  fill_in(object, number);
  return object;
}

}  // namespace berth::bench
