// SendWindow: how much nodes are asked at one time: a few rows in prebind and bind each, so that a node that answers
// nothing takes no more of the fleet's window than that. A pod that is decided beyond a node's share keeps its
// reservation in the cache and waits here, in the order of the decisions, until the node has answered for another one.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/handshake/row.h"
#include "core/objects/nodes.h"

namespace berth {

// Its node is asked, and has not answered.
inline bool is_in_flight(const Row& row) { return row.phase == Phase::prebind || row.phase == Phase::bind; }

class SendWindow {
 public:
  struct Limits {
    std::size_t fleet = 256;
    std::size_t node = 12;
  };
  using StillWaits = std::function<bool(const std::string& node, std::string_view uid)>;

  explicit SendWindow(Limits limits) : limits_(limits) {}

  void enter(const Row& row);
  void leave(const Row& row);
  // Nodes that cannot answer hold back nobody else: a row in bind has no deadline, and they may stay away for long.
  bool is_full(const Nodes& nodes) const;
  bool is_busy(const std::string& node) const;

  // Nothing of this is durable: after a restart the pod is decided again. `still_waits` tells of the others whether
  // they do; those that do not are dropped, or they would pile up behind a node that never answers.
  void defer(const std::string& node, const std::string& uid, const StillWaits& still_waits);
  // Everything deferred, by node.
  std::map<std::string, std::deque<std::string>> take_deferred();
  // Nodes that have answered for a row since the last call, in the order of their names.
  std::set<std::string> take_answered();
  // The next pod that waits for the node, while that is not busy; empty: none.
  std::string next_deferred(const std::string& node);

 private:
  Limits limits_;
  std::map<std::string, std::size_t> in_flight_;  // by node: rows in prebind and bind
  std::size_t all_in_flight_ = 0;
  std::map<std::string, std::deque<std::string>> deferred_;  // by node: uids in the order of their decisions
  std::set<std::string> answered_;
};

}  // namespace berth
