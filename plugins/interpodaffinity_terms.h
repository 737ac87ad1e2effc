// Pod affinity terms: which pods match a term, and counts by topology value.
// Source of the rule: kube-scheduler framework/types.go (AffinityTerm.Matches, getNamespacesFromPodAffinityTerm),
// framework/plugins/interpodaffinity/filtering.go, plugin.go (mergeAffinityTermNamespacesIfNotEmpty).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/metadata.h"
#include "core/framework/framework.h"
#include "core/recycled.h"

namespace berth {

struct Node;
struct Pod;
struct PodAffinityTerm;

// Looks up the labels of namespaces, each once.
class NamespaceLabels {
 public:
  explicit NamespaceLabels(const Lister& lister) : lister_(lister) {}
  // Null: there is no such namespace. The pointer is valid as long as *this.
  const Labels* find(std::string_view name);
  // True while looking up the same namespaces again would give the same labels.
  bool hold() const;

 private:
  const Lister& lister_;
  std::map<std::string, std::shared_ptr<const Namespace>, std::less<>> known_;
};

// Matches a term of `owner` against `other`, whose namespace has the given labels; a namespace without an object has
// none. For terms of existing pods.
bool term_matches(const PodAffinityTerm& term, const Pod& owner, const Pod& other, const Labels& labels_of_namespace);
// For terms of the pod being scheduled: its namespaceSelector is resolved to existing namespaces. But upstream also
// keeps the selector and matches it against empty labels, so a selector that matches empty labels (NotIn, DoesNotExist)
// selects every namespace, including those whose labels it excludes.
bool term_matches(const PodAffinityTerm& term, const Pod& owner, const Pod& other, NamespaceLabels& namespaces);

// True if `other` matches all terms; false without terms.
bool all_terms_match(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
                     NamespaceLabels& namespaces);
bool all_terms_match(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
                     const Labels& labels_of_namespace);

// Counts by topology key and value: topology.kubernetes.io/zone -> z1 -> 2.
class TopologyCounts {
 public:
  // Adds to the count of the node's value of the key, so many times, or undoes as many earlier additions; does nothing
  // for a node without the key. Counts that become 0 are kept.
  void add(const Node& node, const std::string& topology_key, std::int64_t amount, std::int64_t times = 1);
  // The same, but counts that become 0 are removed.
  void add_and_drop_zero(const Node& node, const std::string& topology_key, std::int64_t amount);
  std::int64_t at(const std::string& topology_key, const std::string& value) const;  // 0: nothing counted
  // The sum over the node's labels.
  std::int64_t sum(const Node& node) const;
  // True if the count of any of the node's labels is positive.
  bool any_positive(const Node& node) const;
  bool empty() const { return by_key_.empty(); }
  // True if there are additions by add() that were not undone.
  bool has_additions() const { return additions_ > 0; }
  template <class Visit>
  void for_each_key(Visit visit) const {
    for (const auto& entry : by_key_) visit(entry.first);
  }
  bool operator==(const TopologyCounts&) const = default;

 private:
  RecyclingMap<std::string, RecyclingMap<std::string, std::int64_t>> by_key_;
  std::int64_t additions_ = 0;
};

}  // namespace berth
