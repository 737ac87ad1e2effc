// The state of PodTopologySpread between its extension points: sums over nodes, for one attempt or a class of pods.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/node.h"
#include "core/framework/cycle_state.h"
#include "core/framework/domains.h"
#include "plugins/podtopologyspread_constraints.h"

namespace berth::spreading {

struct Spread final : StateEntry {
  std::vector<SpreadConstraint> constraints;
  std::vector<DomainCounts> counts;  // by constraint
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Spread>(*this); }
};

struct SpreadScore final : StateEntry {
  std::vector<SpreadConstraint> constraints;
  std::set<std::string> ignored_nodes;  // lack a topology key; they score 0
  // By constraint: matching pods per topology value, at least those of feasible nodes. Empty for the host name, which
  // is counted per node.
  std::vector<std::map<std::string, std::int64_t>> counts;
  std::vector<double> weights;  // by constraint; larger with more domains
  // Scratch memory for counting the domains of a constraint.
  std::vector<std::int64_t> domains;
  std::vector<const Domains::Key*> keys;  // by constraint
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<SpreadScore>(*this); }
};

inline const std::string* label_of(const NodeInfo& node, const std::string& key) {
  auto found = node.node->metadata.labels.find(key);
  return found == node.node->metadata.labels.end() ? nullptr : &found->second;
}

// A node without the key has the empty value, where that is allowed.
inline const std::string& value_of(const NodeInfo& node, const std::string& key) {
  static const std::string kNone;
  const std::string* value = label_of(node, key);
  return value == nullptr ? kNone : *value;
}

}  // namespace berth::spreading
