#include "core/workloads/selector_index.h"

#include <algorithm>

namespace berth {

SelectorIndex::Place SelectorIndex::place_of(std::string_view name_space, const LabelSelector& selector) {
  for (const Requirement& each : selector.requirements) {
    if (each.op == Requirement::Operator::in && each.values.size() == 1) {
      return {std::string(name_space), each.key, each.values.front()};
    }
  }
  return {std::string(name_space), {}, {}};
}

void SelectorIndex::add(std::string_view name_space, const Text& owner, const LabelSelector& selector) {
  entries_[place_of(name_space, selector)].push_back({owner, selector});
}

void SelectorIndex::remove(std::string_view name_space, const Text& owner, const LabelSelector& selector) {
  const auto found = entries_.find(place_of(name_space, selector));
  if (found == entries_.end()) return;
  std::erase_if(found->second, [&owner](const Entry& each) { return each.owner == owner; });
  if (found->second.empty()) entries_.erase(found);
}

bool SelectorIndex::selects_at(const Place& place, const Labels& labels) const {
  const auto found = entries_.find(place);
  return found != entries_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&labels](const Entry& each) { return matches(each.selector, labels); });
}

bool SelectorIndex::selects(std::string_view name_space, const Labels& labels) const {
  if (entries_.empty()) return false;
  const std::string space(name_space);
  return selects_at({space, {}, {}}, labels) || std::any_of(labels.begin(), labels.end(), [&](const auto& label) {
           return selects_at({space, label.first, label.second}, labels);
         });
}

}  // namespace berth
