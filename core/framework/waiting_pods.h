// WaitingPods: pods that wait at Permit: placed and reserved, but not bound (kube-scheduler
// framework/runtime/waiting_pods_map.go). Plugins and operators allow or reject them; the rest time out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/api/pod.h"
#include "core/clock.h"
#include "core/status.h"
#include "core/text.h"

namespace berth {

struct WaitingPod {
  // A plugin that has not allowed the pod yet.
  struct Wait {
    Millis timeout = 0;
    Millis deadline = 0;
  };
  PodPtr pod;
  std::string node;
  std::map<std::string, Wait> plugins;  // by name; never empty
};

// A decision removes the pod at once; the code that runs its binding cycle gets it from take_decided(). So a plugin may
// decide about any pod at any time, even in the middle of another pod's cycle.
class WaitingPods {
 public:
  using Decision = std::pair<Text, Status>;  // uid; success: allowed by all plugins, else rejected

  // `timeouts`: by plugin, not empty. The pod must not be waiting yet.
  void add(PodPtr pod, std::string node, const std::map<std::string, Millis>& timeouts, Millis now);
  // By uid.
  const std::map<Text, WaitingPod, std::less<>>& all() const { return pods_; }
  // Null: the pod is not waiting.
  const WaitingPod* find(std::string_view uid) const;

  // The plugin allows the pod; once all have, the pod may be bound. False: the pod is not waiting for that plugin.
  bool allow(std::string_view uid, const std::string& plugin);
  // Rejects the pod on behalf of `plugin` (empty: none), whose events then requeue it. False: the pod is not waiting.
  bool reject(std::string_view uid, const std::string& plugin, const std::string& message);
  // Rejects every pod whose deadline has passed, on behalf of the plugin with the earliest one.
  void expire(Millis now);
  std::optional<Millis> next_deadline() const;

  // The decisions since the last call, in order.
  std::vector<Decision> take_decided() { return std::exchange(decided_, {}); }

 private:
  void decide(std::string_view uid, Status status);
  void time_out(std::string_view uid);

  std::map<Text, WaitingPod, std::less<>> pods_;
  std::vector<Decision> decided_;
};

// Formatted like a Go duration: "150ms", "1m0s", "2h0m0.5s".
std::string duration_text(Millis duration);

}  // namespace berth
