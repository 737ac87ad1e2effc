// WaitingPods: pods that a Permit plugin holds back: placed and reserved, not bound (kube-scheduler
// framework/runtime/waiting_pods_map.go). Plugins and operators allow or reject them; time rejects the rest.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/api/objects.h"
#include "core/clock.h"
#include "core/status.h"

namespace berth {

struct WaitingPod {
  // A plugin that has not allowed the pod yet.
  struct Wait {
    Millis timeout = 0;
    Millis deadline = 0;
  };
  std::shared_ptr<const Pod> pod;
  std::string node;
  std::map<std::string, Wait> plugins;  // by name; never empty
};

// A decision takes the pod out at once; who runs its binding cycle hears of it through take_decided(). So a plugin may
// decide about any pod at any point, in the middle of another pod's cycle too.
class WaitingPods {
 public:
  using Decision = std::pair<Text, Status>;  // uid; success: allowed by all, else rejected

  // `timeouts`: by plugin, not empty. The pod does not wait already.
  void add(std::shared_ptr<const Pod> pod, std::string node, const std::map<std::string, Millis>& timeouts, Millis now);
  // By uid.
  const std::map<Text, WaitingPod, std::less<>>& all() const { return pods_; }
  // Null: it does not wait.
  const WaitingPod* find(std::string_view uid) const;

  // The plugin has no objection any more; the last one frees the pod. False: the pod does not wait for that plugin.
  bool allow(std::string_view uid, const std::string& plugin);
  // The pod goes back, rejected by `plugin` (empty: by none), which is what its wake-up depends on. False: it does not
  // wait.
  bool reject(std::string_view uid, const std::string& plugin, const std::string& message);
  // The plugin that waits the shortest has waited long enough. False: the pod does not wait.
  bool time_out(std::string_view uid);
  // time_out() for every pod whose time has come.
  void expire(Millis now);
  std::optional<Millis> next_deadline() const;
  // The pod's attempt ended otherwise; nothing is decided.
  void withdraw(std::string_view uid) { pods_.erase(uid); }

  // What was decided since the last call, in that order.
  std::vector<Decision> take_decided() { return std::exchange(decided_, {}); }

 private:
  void decide(std::string_view uid, Status status);

  std::map<Text, WaitingPod, std::less<>> pods_;
  std::vector<Decision> decided_;
};

// As Go prints a duration: "150ms", "1m0s", "2h0m0.5s".
std::string duration_text(Millis duration);

}  // namespace berth
