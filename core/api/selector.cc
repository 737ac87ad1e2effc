#include "core/api/selector.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace berth {
namespace {

// As strconv.ParseInt(text, 10, 64): an optional sign, digits, nothing else.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Upstream converts a field requirement to a field selector, which supports In and NotIn with one value only.
bool matches_field(const Requirement& requirement, std::string_view node_name) {
  if (requirement.key != "metadata.name" || requirement.values.size() != 1) return false;
  if (requirement.op == Requirement::Operator::in) return requirement.values[0] == node_name;
  if (requirement.op == Requirement::Operator::not_in) return requirement.values[0] != node_name;
  return false;
}

}  // namespace

bool matches_value(const Requirement& requirement, const std::string* value) {
  switch (requirement.op) {
    case Requirement::Operator::in: return value != nullptr && contains(requirement.values, *value);
    case Requirement::Operator::not_in: return value == nullptr || !contains(requirement.values, *value);
    case Requirement::Operator::exists: return value != nullptr;
    case Requirement::Operator::does_not_exist: return value == nullptr;
    case Requirement::Operator::gt:
    case Requirement::Operator::lt: {
      if (value == nullptr || requirement.values.size() != 1) return false;
      const std::optional<std::int64_t> have = parse_integer(*value);
      const std::optional<std::int64_t> bound = parse_integer(requirement.values[0]);
      if (!have || !bound) return false;
      return requirement.op == Requirement::Operator::gt ? *have > *bound : *have < *bound;
    }
  }
  return false;
}

bool matches(const Requirement& requirement, const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(requirement.key);
  return matches_value(requirement, label == labels.end() ? nullptr : &label->second);
}

bool matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels) {
  return std::all_of(selector.requirements.begin(), selector.requirements.end(),
                     [&](const Requirement& requirement) { return matches(requirement, labels); });
}

bool matches(const NodeSelectorTerm& term, const std::map<std::string, std::string>& labels,
             std::string_view node_name) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [&](const Requirement& requirement) { return matches(requirement, labels); }) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(),
                     [&](const Requirement& requirement) { return matches_field(requirement, node_name); });
}

bool matches(const NodeSelector& selector, const std::map<std::string, std::string>& labels,
             std::string_view node_name) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const NodeSelectorTerm& term) { return matches(term, labels, node_name); });
}

}  // namespace berth
