#include "plugins/interpodaffinity_terms.h"

#include <algorithm>

#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"

namespace berth {

namespace {

// By name; a term without namespaces and namespaceSelector applies to the owner's namespace.
bool names_namespace(const PodAffinityTerm& term, const Pod& owner, std::string_view name) {
  if (term.namespaces.empty() && !term.namespace_selector) return name == owner.metadata.namespace_;
  return std::find(term.namespaces.begin(), term.namespaces.end(), name) != term.namespaces.end();
}

bool selects(const PodAffinityTerm& term, const Pod& other) {
  return term.label_selector && matches(*term.label_selector, other.metadata.labels);
}

}  // namespace

const Labels* NamespaceLabels::find(std::string_view name) {
  auto known = known_.find(name);
  if (known == known_.end()) known = known_.emplace(name, lister_.name_space(name)).first;
  return known->second == nullptr ? nullptr : &known->second->metadata.labels.get();
}

bool NamespaceLabels::hold() const {
  return std::all_of(known_.begin(), known_.end(), [this](const auto& entry) {
    const std::shared_ptr<const Namespace> now = lister_.name_space(entry.first);
    if (now == entry.second) return true;
    return now != nullptr && entry.second != nullptr && now->metadata.labels == entry.second->metadata.labels;
  });
}

bool term_matches(const PodAffinityTerm& term, const Pod& owner, const Pod& other, const Labels& labels_of_namespace) {
  const bool in_namespace = names_namespace(term, owner, other.metadata.namespace_) ||
                            (term.namespace_selector && matches(*term.namespace_selector, labels_of_namespace));
  return in_namespace && selects(term, other);
}

bool term_matches(const PodAffinityTerm& term, const Pod& owner, const Pod& other, NamespaceLabels& namespaces) {
  if (!selects(term, other)) return false;
  if (names_namespace(term, owner, other.metadata.namespace_)) return true;
  if (!term.namespace_selector) return false;
  if (matches(*term.namespace_selector, {})) return true;
  const Labels* labels = namespaces.find(other.metadata.namespace_);
  return labels != nullptr && matches(*term.namespace_selector, *labels);
}

bool all_terms_match(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
                     NamespaceLabels& namespaces) {
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&](const PodAffinityTerm& term) {
    return term_matches(term, owner, other, namespaces);
  });
}

bool all_terms_match(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
                     const Labels& labels_of_namespace) {
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&](const PodAffinityTerm& term) {
    return term_matches(term, owner, other, labels_of_namespace);
  });
}

void TopologyCounts::add(const Node& node, const std::string& topology_key, std::int64_t amount, std::int64_t times) {
  auto label = node.metadata.labels.find(topology_key);
  if (label == node.metadata.labels.end()) return;
  by_key_[topology_key][label->second] += amount * times;
  additions_ += times;
}

void TopologyCounts::add_and_drop_zero(const Node& node, const std::string& topology_key, std::int64_t amount) {
  auto label = node.metadata.labels.find(topology_key);
  if (label == node.metadata.labels.end()) return;
  auto& by_value = by_key_[topology_key];
  auto counted = by_value.try_emplace(label->second, 0).first;
  counted->second += amount;
  if (counted->second != 0) return;
  by_value.erase(counted);
  if (by_value.empty()) by_key_.erase(topology_key);
}

std::int64_t TopologyCounts::at(const std::string& topology_key, const std::string& value) const {
  auto by_value = by_key_.find(topology_key);
  if (by_value == by_key_.end()) return 0;
  auto found = by_value->second.find(value);
  return found == by_value->second.end() ? 0 : found->second;
}

std::int64_t TopologyCounts::sum(const Node& node) const {
  std::int64_t sum = 0;
  for (const auto& [key, by_value] : by_key_) {
    auto label = node.metadata.labels.find(key);
    if (label != node.metadata.labels.end()) sum += at(key, label->second);
  }
  return sum;
}

bool TopologyCounts::any_positive(const Node& node) const {
  return std::any_of(by_key_.begin(), by_key_.end(), [this, &node](const auto& entry) {
    auto label = node.metadata.labels.find(entry.first);
    return label != node.metadata.labels.end() && at(entry.first, label->second) > 0;
  });
}

}  // namespace berth
