#include "core/api/selector.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace berth {

namespace {

std::optional<std::int64_t> integer(const std::string& text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool matches_fields(const std::vector<Requirement>& fields, std::string_view node_name) {
  const std::map<std::string, std::string> known{{"metadata.name", std::string(node_name)}};
  return std::all_of(fields.begin(), fields.end(), [&](const Requirement& field) { return matches(field, known); });
}

}  // namespace

bool matches(const Requirement& requirement, const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(requirement.key);
  const bool present = label != labels.end();
  const auto& values = requirement.values;
  const bool listed = present && std::find(values.begin(), values.end(), label->second) != values.end();
  switch (requirement.op) {
    case Requirement::Operator::in: return listed;
    case Requirement::Operator::not_in: return !listed;
    case Requirement::Operator::exists: return present;
    case Requirement::Operator::does_not_exist: return !present;
    case Requirement::Operator::gt:
    case Requirement::Operator::lt: {
      if (!present || values.size() != 1) return false;
      const auto have = integer(label->second);
      const auto want = integer(values[0]);
      if (!have || !want) return false;
      return requirement.op == Requirement::Operator::gt ? *have > *want : *have < *want;
    }
  }
  return false;
}

bool matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels) {
  return std::all_of(selector.requirements.begin(), selector.requirements.end(),
                     [&](const Requirement& requirement) { return matches(requirement, labels); });
}

bool matches(const NodeSelector& selector, const std::map<std::string, std::string>& labels,
             std::string_view node_name) {
  return std::any_of(selector.terms.begin(), selector.terms.end(), [&](const NodeSelectorTerm& term) {
    if (term.match_expressions.empty() && term.match_fields.empty()) return false;
    const bool expressions = std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                                         [&](const Requirement& requirement) { return matches(requirement, labels); });
    return expressions && matches_fields(term.match_fields, node_name);
  });
}

}  // namespace berth
