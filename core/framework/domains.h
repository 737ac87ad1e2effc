// Domains: assigns a number to each value of a topology key, so that topology domains can be compared as integers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/cache/cache.h"
#include "core/recycled.h"

namespace berth {

class Domains {
 public:
  static constexpr std::int64_t kNone = -1;  // the node has no such label

  // Tracks the key from now on; a new key makes the domains stale.
  void watch(const std::string& key);
  // True when a key is new, or when a key that was unique per node no longer is: the data about nodes is outdated, and
  // recount() must be called.
  bool is_stale() const { return stale_; }
  void recount(const Snapshot& snapshot);
  // Adds (1) or removes (-1) the node.
  void count(const Node& node, std::int64_t times);
  // True when no two nodes share a value, as for the host name: a sum over a domain is then that of one node. Turns
  // false only together with is_stale(). False for a key that is not watched.
  bool is_per_node(const std::string& key) const;
  // The number of the node's domain, or kNone; numbers are never reused for another value.
  std::int64_t number_of(const std::string& key, const Node& node) const;

 private:
  struct Domain {
    std::int64_t number = 0;
    std::int64_t nodes = 0;
  };
  struct Values {
    RecyclingMap<std::string, Domain> domains;
    std::int64_t shared = 0;  // domains with several nodes
    bool per_node = true;
  };
  void count(Values& values, const std::string& key, const Node& node, std::int64_t times);

  std::map<std::string, Values> keys_;
  std::int64_t last_number_ = 0;
  bool stale_ = false;
};

}  // namespace berth
