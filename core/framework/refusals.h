// Refusals: which devices have refused which pods, as their answers to PreBind said. A refused pod is tried on other
// nodes, and on that one again when something has changed that may matter or, unless the device will say so, after a
// while that grows. In memory only: after a restart a device is asked once more.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/handshake/siphash.h"
#include "core/text.h"

namespace berth {

struct Pod;

class Refusals {
 public:
  // What was refused: the manifest without name and uid, which the pods of a workload share.
  using Key = SipTag;
  static constexpr std::string_view kFilter = "DeviceRefusals";  // the plugin that keeps pods off such nodes
  static constexpr std::size_t kPerNode = 64, kInAll = 4'096;    // further ones are not kept
  static constexpr std::size_t kNamed = 3;                       // nodes that a reason names
  // After so long one that lasts makes room for another: its pod may be gone.
  static constexpr Millis kKeptMs = 3'600'000;

  struct Limits {
    Millis first = 10'000;  // how long a refusal counts; doubles with each one that follows it,
    Millis max = 600'000;   // up to this
  };

  void set_limits(const Limits& limits) { limits_ = limits; }
  Key key_of(const Pod& pod) const;

  // The node has refused the pod. `reason`: the device's, for people. `lasts`: until forget() or end_of_volumes(); the
  // device will say when it may take the pod. False: it cannot be remembered, as too many are.
  bool note(const Pod& pod, const std::string& node, const std::string& reason, Millis now, bool lasts = false);
  // A refusal of this pod can be remembered without making another one of the node go.
  bool can_note(const Pod& pod, const std::string& node) const;
  // Another one of the node can be remembered without making one go.
  bool has_capacity(const std::string& node) const;
  // Any node refuses the pod now.
  bool is_refused(const Pod& pod) const { return may_be_refused(pod) && find(key_of(pod)) != nullptr; }
  // So many do.
  std::size_t count(const Pod& pod) const;
  // Why the node refuses it: the device's reason, and who gives it, "no directory /srv (edge-a, edge-b and 2 more)";
  // null: it does not.
  const std::string* reason(const Key& key, const std::string& node) const;
  // Rises with each change for this key.
  std::uint64_t changes(const Key& key) const;

  // The device is another one, or says something else of itself. True: it had refused something.
  bool forget(const std::string& node);
  // It may take what it has refused: that lasts no longer than if it had not promised to say so, however often it does.
  void end_lasting(const std::string& node);
  // Volumes or claims have changed: what refers to one may be taken now. Returns the nodes that had refused such pods.
  std::vector<std::string> end_of_volumes();
  // Called now and then. Returns the nodes of refusals that have ended since.
  std::vector<std::string> end_due(Millis now);

 private:
  struct Refusal {
    std::string reason;
    std::shared_ptr<const std::string> verdict;  // shared with those of the same reason
    Millis until = 0;                            // kForever: it lasts
    Millis since = 0;
    Millis pause = 0;
    bool counts = true;  // otherwise only its pause is remembered
  };
  struct Refused {
    std::map<std::string, Refusal> nodes;  // by name
    bool has_claims = false;               // of other volumes nothing changes with a volume or a claim
    std::uint64_t changes = 0;
    bool counts() const;
  };

  // What was hashed lately: pods of a workload share the text of their manifest, and each is asked about several times.
  struct Hashed {
    Text manifest;
    Key key = {};
  };

  bool may_be_refused(const Pod& pod) const;
  const Refused* find(const Key& key) const;
  // False: the capacity for refusals of the node is used up.
  bool make_room(const std::string& node, Millis now);
  void drop_oldest(const std::string& node, Millis now);
  void changed(Refused& refused);
  void forget_count(const std::string& node);

  Limits limits_;
  std::map<Key, Refused> refused_;
  mutable std::array<Hashed, 16> hashed_;     // by address of the text, which the entry keeps
  std::set<std::size_t> sizes_;               // of their manifests, and maybe of some that are refused no more
  std::map<std::string, std::size_t> count_;  // of refusals kept, by node
  std::size_t count_in_all_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace berth
