// Selectors over labels: matchLabels / matchExpressions (apimachinery pkg/labels/selector.go) and node selectors
// (component-helpers scheduling/corev1/nodeaffinity).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct Requirement {
  enum class Operator { in, not_in, exists, does_not_exist, gt, lt };
  std::string key;
  Operator op = Operator::in;
  std::vector<std::string> values;
  bool operator==(const Requirement&) const = default;
};

struct LabelSelector {  // all must hold; empty matches everything
  std::vector<Requirement> requirements;
  bool operator==(const LabelSelector&) const = default;
};

struct NodeSelectorTerm {  // all must hold; an empty term matches nothing
  std::vector<Requirement> match_expressions;
  std::vector<Requirement> match_fields;  // metadata.name only
  bool operator==(const NodeSelectorTerm&) const = default;
};

struct NodeSelector {  // one term must hold; no terms match nothing
  std::vector<NodeSelectorTerm> terms;
  bool operator==(const NodeSelector&) const = default;
};

// `value`: null if the label is absent.
bool matches_value(const Requirement& requirement, const std::string* value);
bool matches(const Requirement& requirement, const std::map<std::string, std::string>& labels);
bool matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels);
bool matches(const NodeSelectorTerm& term, const std::map<std::string, std::string>& labels,
             std::string_view node_name);
bool matches(const NodeSelector& selector, const std::map<std::string, std::string>& labels,
             std::string_view node_name);

}  // namespace berth
