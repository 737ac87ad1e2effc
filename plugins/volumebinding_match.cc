#include "plugins/volumebinding_match.h"

#include <algorithm>

#include "core/api/node.h"
#include "core/api/volume.h"
#include "core/api/volume_match.h"

namespace berth {

namespace {

bool reaches(const NodeSelectorTerm& term, const Labels& labels) {
  return may_match(term) &&
         std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [&labels](const Requirement& requirement) { return matches(requirement, labels); });
}

}  // namespace

// Upstream only requires matchFields to be valid, and matches the term against the node's labels. An empty term matches
// no node.
bool may_match(const NodeSelectorTerm& term) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  return std::all_of(term.match_fields.begin(), term.match_fields.end(), [](const Requirement& field) {
    return (field.op == Requirement::Operator::in || field.op == Requirement::Operator::not_in) &&
           field.values.size() == 1;
  });
}

bool reaches(const PersistentVolume& volume, const Node& node) {
  if (!volume.node_affinity) return true;
  const std::vector<NodeSelectorTerm>& terms = volume.node_affinity->terms;
  return std::any_of(terms.begin(), terms.end(),
                     [&node](const NodeSelectorTerm& term) { return reaches(term, node.metadata.labels); });
}

bool fits(const PersistentVolume& volume, const PersistentVolumeClaim& claim, const Node& node) {
  return is_free_for(volume, claim) && reaches(volume, node);
}

}  // namespace berth
