// Terms of affinity between pods: which pods a term means, and the counts over topology values.
// Source of the rule: kube-scheduler framework/types.go (AffinityTerm.Matches, getNamespacesFromPodAffinityTerm),
// framework/plugins/interpodaffinity/filtering.go, plugin.go (mergeAffinityTermNamespacesIfNotEmpty).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/objects.h"
#include "core/framework/framework.h"
#include "core/recycled.h"

namespace berth {

// Looks up the labels of namespaces, each once.
class NamespaceLabels {
 public:
  explicit NamespaceLabels(const Lister& lister) : lister_(lister) {}
  // Null: there is no such namespace. The pointer lives as long as *this.
  const Labels* find(std::string_view name);
  // True while a new look-up of all that were found would give the same.
  bool hold() const;

 private:
  const Lister& lister_;
  std::map<std::string, std::shared_ptr<const Namespace>, std::less<>> known_;
};

// A term of `owner` against `other`, whose namespace has the labels given; a namespace without an object has none.
// For terms of pods on nodes.
bool means(const PodAffinityTerm& term, const Pod& owner, const Pod& other, const Labels& labels_of_namespace);
// For terms of the pod being placed: its namespaceSelector stands for the namespaces that there are. But upstream keeps
// the selector beside them and matches it against no labels, so one that holds for no labels (NotIn, DoesNotExist)
// means every namespace, also those whose labels it excludes.
bool means(const PodAffinityTerm& term, const Pod& owner, const Pod& other, NamespaceLabels& namespaces);

// One pod must be meant by all terms; no terms mean no pod.
bool all_mean(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
              NamespaceLabels& namespaces);
bool all_mean(const std::vector<PodAffinityTerm>& terms, const Pod& owner, const Pod& other,
              const Labels& labels_of_namespace);

// Amounts by topology key and value: topology.kubernetes.io/zone -> z1 -> 2.
class TopologyCounts {
 public:
  // To the node's value of the key; a node without the key changes nothing. `times`: 1, or -1 to take an earlier
  // addition back. Amounts that come to 0 stay.
  void add(const Node& node, const std::string& topology_key, std::int64_t amount, std::int64_t times = 1);
  // The same, but what comes to 0 is gone.
  void add_and_drop_zero(const Node& node, const std::string& topology_key, std::int64_t amount);
  std::int64_t at(const std::string& topology_key, const std::string& value) const;  // 0: nothing counted
  // The sum over the node's labels.
  std::int64_t sum(const Node& node) const;
  // True when one of the node's labels counts more than 0.
  bool any_positive(const Node& node) const;
  bool empty() const { return by_key_.empty(); }
  // Of add(), without those taken back.
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
