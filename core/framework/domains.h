// Domains: the topology keys that a class of pods looks at, with a number for each value, so that topology domains can
// be compared as integers. The numbers are those of the snapshot's label columns, which all classes share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/cache/cache.h"

namespace berth {

class Domains {
 public:
  static constexpr std::int64_t kNone = -1;  // the node has no such label
  struct Key {
    std::string name;
    const NodeColumns::Label* label = nullptr;  // null: before follow()
    std::uint64_t id = 0;                       // of `label`
    bool per_node = false;
    // The number of the domain that the node at this index is in, or kNone.
    std::int64_t number_of(std::size_t index) const {
      const std::uint32_t number = label->numbers[index];
      return number == NodeColumns::Label::kNone ? kNone : static_cast<std::int64_t>(number);
    }
  };

  // Looks at the key from now on.
  void watch(std::string_view key);
  // Looks the keys up in the snapshot's columns. False: what was told before is outdated, since a key is new, its
  // values are numbered afresh, or a key that was unique per node no longer is.
  bool follow(const Snapshot& snapshot);
  const std::vector<Key>& keys() const { return keys_; }
  // After follow(). True when no two nodes share a value, and none has the empty one, as for the host name: a sum over
  // a domain is then that of one node. False for a key that is not watched.
  bool is_per_node(std::string_view key) const;
  // Null: the key is not watched.
  const Key* find(std::string_view key) const;

 private:
  std::vector<Key> keys_;  // few
};

}  // namespace berth
