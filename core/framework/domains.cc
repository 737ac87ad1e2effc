#include "core/framework/domains.h"

#include "core/api/node.h"

namespace berth {

void Domains::watch(const std::string& key) {
  if (keys_.try_emplace(key).second) stale_ = true;
}

void Domains::recount(const Snapshot& snapshot) {
  for (auto& [key, values] : keys_) {
    values = {};
    for (const auto& node : snapshot.nodes()) count(values, key, *node->node, 1);
    values.per_node = values.shared == 0;
  }
  stale_ = false;
}

void Domains::count(const Node& node, std::int64_t times) {
  for (auto& [key, values] : keys_) {
    count(values, key, node, times);
    if (values.shared == 0 || !values.per_node) continue;
    values.per_node = false;
    stale_ = true;
  }
}

void Domains::count(Values& values, const std::string& key, const Node& node, std::int64_t times) {
  const auto label = node.metadata.labels.find(key);
  if (label == node.metadata.labels.end()) return;
  const auto [found, is_new] = values.domains.try_emplace(label->second);
  Domain& domain = found->second;
  if (is_new) domain.number = ++last_number_;
  const bool was_shared = domain.nodes > 1;
  domain.nodes += times;
  values.shared += (domain.nodes > 1 ? 1 : 0) - (was_shared ? 1 : 0);
  if (domain.nodes == 0) values.domains.erase(found);
}

bool Domains::is_per_node(const std::string& key) const {
  const auto values = keys_.find(key);
  return values != keys_.end() && values->second.per_node;
}

std::int64_t Domains::number_of(const std::string& key, const Node& node) const {
  const auto values = keys_.find(key);
  const auto label = node.metadata.labels.find(key);
  if (values == keys_.end() || label == node.metadata.labels.end()) return kNone;
  const auto domain = values->second.domains.find(label->second);
  return domain == values->second.domains.end() ? kNone : domain->second.number;
}

}  // namespace berth
