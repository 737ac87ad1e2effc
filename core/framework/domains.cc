#include "core/framework/domains.h"

#include <algorithm>

namespace berth {

namespace {

// A node without the label counts as one with the empty value where plugins sum up, so that value is never one node's.
bool is_unique(const NodeColumns::Label& label) {
  const auto empty = label.values.find(std::string());
  return label.shared == 0 && (empty == label.values.end() || label.nodes[empty->second] == 0);
}

}  // namespace

const Domains::Key* Domains::find(std::string_view key) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [key](const Key& each) { return each.name == key; });
  return found == keys_.end() ? nullptr : &*found;
}

void Domains::watch(std::string_view key) {
  if (find(key) == nullptr) keys_.push_back({std::string(key), nullptr, 0, false});
}

bool Domains::follow(const Snapshot& snapshot) {
  bool holds = true;
  NodeColumns& columns = snapshot.columns();
  for (Key& key : keys_) {
    const NodeColumns::Label& label = columns.label(key.name, snapshot.nodes());
    const bool per_node = is_unique(label);
    const bool is_same = key.label != nullptr && key.id == label.id && (per_node || !key.per_node);
    if (!is_same) {
      key.per_node = per_node;
      holds = false;
    }
    key.label = &label;
    key.id = label.id;
  }
  return holds;
}

bool Domains::is_per_node(std::string_view key) const {
  const Key* found = find(key);
  return found != nullptr && found->per_node;
}

}  // namespace berth
