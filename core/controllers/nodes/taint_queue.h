// TaintQueue: the nodes of a zone that are to get a NoExecute taint, at a limited rate
// (pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go, RateLimitedTimedQueue).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/controllers/nodes/rate_limiter.h"

namespace berth {

class TaintQueue {
 public:
  explicit TaintQueue(float per_second) : limiter_(per_second) {}

  // Nothing happens for a node that was added and not removed since, even if it has had its turn.
  void add(const std::string& node, Millis now) { nodes_.emplace(node, now); }
  void remove(const std::string& node) { nodes_.erase(node); }
  // Nodes a second; 0: none. What was waited for so far must be waited for again.
  void set_rate(float per_second, Millis now);

  // The node whose turn it is: the one added first, of several the smallest name. None: no node waits, or there is no
  // token. A token is used up also by a node that is to be tried later.
  std::optional<std::string> take(Millis now);
  // The node that take() gave gets another turn.
  void try_again_at(const std::string& node, Millis when) { nodes_[node] = when; }

 private:
  std::map<std::string, std::optional<Millis>> nodes_;  // by name, when it has its turn; none: it has had it
  RateLimiter limiter_;
};

}  // namespace berth
