// What PodTopologySpread keeps between its points: sums over nodes, of one attempt or of a class of pods.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/framework/cycle_state.h"
#include "plugins/podtopologyspread_constraints.h"

namespace berth::spreading {

struct Spread final : StateEntry {
  std::vector<SpreadConstraint> constraints;
  std::vector<DomainCounts> counts;  // by constraint
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Spread>(*this); }
};

struct SpreadScore final : StateEntry {
  std::vector<SpreadConstraint> constraints;
  std::set<std::string> ignored_nodes;  // without all topology keys: they score 0
  // By constraint: matching pods per topology value, at least those of feasible nodes. Empty for the host name, counted
  // per node.
  std::vector<std::map<std::string, std::int64_t>> counts;
  std::vector<double> weights;        // by constraint: more where there are more domains
  std::vector<std::int64_t> domains;  // of a constraint, while they are counted
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<SpreadScore>(*this); }
};

inline const std::string* label_of(const NodeInfo& node, const std::string& key) {
  auto found = node.node->metadata.labels.find(key);
  return found == node.node->metadata.labels.end() ? nullptr : &found->second;
}

// A node without the key counts under the empty value, where that is allowed.
inline const std::string& value_of(const NodeInfo& node, const std::string& key) {
  static const std::string kNone;
  const std::string* value = label_of(node, key);
  return value == nullptr ? kNone : *value;
}

}  // namespace berth::spreading
