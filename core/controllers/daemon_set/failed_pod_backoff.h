// How long a failed daemon pod stays before it is replaced, so that a node that rejects it is not asked without end
// (pkg/controller/daemon/daemon_controller.go, failedPodsBackoff; client-go util/flowcontrol/backoff.go).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "core/api/daemon_set.h"
#include "core/clock.h"

namespace berth {

class FailedPodBackoff {
 public:
  // The delay that is running for pods of the set on that node; none: the pod may be replaced.
  std::optional<Millis> running(const DaemonSet& set, const std::string& node, Millis now) const;
  // Starts a delay: a second, and twice as long each time, at most 15 minutes. 30 minutes after the last one the
  // next is a second again.
  void start(const DaemonSet& set, const std::string& node, Millis now);

 private:
  using Key = std::tuple<std::string, std::int64_t, std::string>;  // uid, observed generation, node
  struct Delay {
    Millis length = 0;
    Millis since = 0;
  };
  static Key key_of_delay(const DaemonSet& set, const std::string& node);
  void forget_old(Millis now);

  std::map<Key, Delay> delays_;
};

}  // namespace berth
