// SelectorIndex: whether any workload selects pods with these labels, without a look at all workloads: most selectors
// ask for a label with one value, by which they are found.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/api/metadata.h"
#include "core/api/selector.h"
#include "core/text.h"

namespace berth {

class SelectorIndex {
 public:
  // `owner`: uid of the workload, which has one selector.
  void add(std::string_view name_space, const Text& owner, const LabelSelector& selector);
  void remove(std::string_view name_space, const Text& owner, const LabelSelector& selector);
  bool selects(std::string_view name_space, const Labels& labels) const;

 private:
  using Place = std::tuple<std::string, std::string, std::string>;  // namespace, and a label that is asked for
  struct Entry {
    Text owner;
    LabelSelector selector;
  };
  static Place place_of(std::string_view name_space, const LabelSelector& selector);
  bool selects_at(const Place& place, const Labels& labels) const;

  std::map<Place, std::vector<Entry>> entries_;  // those that ask for no such label: with an empty one
};

}  // namespace berth
