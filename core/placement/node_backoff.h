// NodeBackoff: nodes that were asked to take pods and did not: they are passed over for a while that doubles with each
// failure. A node fails when it does not answer PreBind within the promise limit, or rejects several pods one after
// another: one pod that no node can prepare holds up nobody else. A refusal that lasts (D6) is no failure: it is about
// the pod. When the time is over one pod is asked of the node, and until it has answered the others still pass it over.
// Nothing of this is durable.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace berth {

class NodeBackoff {
 public:
  static constexpr std::size_t kRejections = 3;  // of different pods, with none taken in between

  struct Limits {
    Millis first = 10'000;
    Millis max = 120'000;
  };
  explicit NodeBackoff(Limits limits) : limits_(limits) {}

  // A pod is asked of the node.
  void note_asked(const std::string& node, std::string_view uid, Millis now);
  // It took a pod.
  void note_taken(const std::string& node) { failing_.erase(node); }
  // It did not answer in time; `why`: for people. Those asked together fail together, and count once.
  void note_unanswered(const std::string& node, const std::string& incarnation, const std::string& why, Millis now);
  void note_rejected(const std::string& node, const std::string& incarnation, std::string_view uid, Millis now);
  // The pod is no longer asked of the node, whatever the reason.
  void note_ended(const std::string& node, std::string_view uid);
  // The node is known by this incarnation: a new one has not failed.
  void note_incarnation(const std::string& node, const std::string& incarnation);
  void forget(const std::string& node) { failing_.erase(node); }

  bool is_passed_over(const std::string& node, Millis now) const;
  // Why, and for how long from the last failure on; empty: the node has not failed.
  std::string why(const std::string& node) const;
  // The same with what is left of that time.
  std::string why(const std::string& node, Millis now) const;
  // All that have failed since they took a pod.
  std::vector<std::string> failing() const;

 private:
  struct Failing {
    std::string incarnation;
    std::set<std::string, std::less<>> rejected;  // uids, until the node is passed over
    int failures = 0;
    Millis until = 0;
    Millis pause = 0;
    std::string asked;  // the uid that is asked of it since then; empty: none
    std::string why;
  };

  Failing& of(const std::string& node, const std::string& incarnation);
  void fail(Failing& failing, const std::string& why, Millis now) const;

  Limits limits_;
  std::map<std::string, Failing> failing_;
};

}  // namespace berth
