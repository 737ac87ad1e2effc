// Domains: the values that nodes have for topology keys, numbered, so that nodes of one domain are told by a number.
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

  // From now on the key is known; a new one makes them stale.
  void watch(const std::string& key);
  // True when a key is new, or the first value of a key came to be that of two nodes: what was learnt of nodes no
  // longer holds, and recount() is due.
  bool is_stale() const { return stale_; }
  void recount(const Snapshot& snapshot);
  // The node counts (1) or no longer (-1).
  void count(const Node& node, std::int64_t times);
  // True when no two nodes share a value, as for the host name: what is summed up per domain is what one node has.
  // Falls with is_stale() only. False for a key that is not watched.
  bool is_per_node(const std::string& key) const;
  // The number of the node's domain, kNone without; a number is never used for another value.
  std::int64_t number_of(const std::string& key, const Node& node) const;

 private:
  struct Domain {
    std::int64_t number = 0;
    std::int64_t nodes = 0;
  };
  struct Values {
    RecyclingMap<std::string, Domain> domains;
    std::int64_t shared = 0;  // domains of several nodes
    bool per_node = true;
  };
  void count(Values& values, const std::string& key, const Node& node, std::int64_t times);

  std::map<std::string, Values> keys_;
  std::int64_t last_number_ = 0;
  bool stale_ = false;
};

}  // namespace berth
