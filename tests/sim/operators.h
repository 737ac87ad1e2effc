// Operators: a fleet controller that repeatedly publishes a changing set of pods, and users of the API.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/handshake/topics.h"
#include "core/transport.h"
#include "tests/sim/invariants.h"
#include "tests/sim/process.h"
#include "tests/sim/sim_device.h"
#include "transports/loopback.h"

namespace berth::sim {

inline constexpr char kImmediateClass[] = "now";  // its claim and its volumes wait for no pod

class Operators final : private Transport::Handler {
 public:
  // `seed`: of what is drawn apart from the rest of the run.
  Operators(SimEnvironment& world, std::size_t names, std::size_t nodes, bool rush, std::uint64_t seed);
  ~Operators() override {
    client_.set_handler(nullptr);
    rival_.set_handler(nullptr);
  }

  void connect();
  // Gives many pods manifests so large that only two of them fit in a page of a listing.
  void set_bulky() { bulky_ = true; }
  // Pods refer to a ConfigMap and a Secret, which act() changes, and deletes.
  void set_configs(std::uint64_t seed) { config_random_.emplace(seed); }
  // One random action: changes a pod, claim, volume, node overlay, budget or service, or forgets a node.
  void act();
  // Publishes all expected objects again, and tombstones of pods that should not exist. `seen`: pods that exist
  // somewhere or wait for their name, key and uid. `orphans`: likewise of workloads that the gateway asks about.
  using Seen = std::set<std::pair<std::string, std::string>>;
  void republish_all(const Seen& seen, const Seen& orphans);
  // The gateway's machine is another one: everything is applied again within `spread`, without uids, some of it
  // changed; some is deleted instead.
  void apply_anew(Random& random, Millis spread);
  // Keeps or ends one of these workloads, of `node`.
  void decide(const std::string& key, const std::string& uid, const std::string& node);
  // The directory of that name on the node, which no volume names, is one again, or goes.
  void decide_on_volume(const std::string& volume, const std::string& node, bool keeps);
  // Removes everything that keeps pods from fitting: cordons and gates.
  void settle();
  void forget(const std::string& node);
  // berthctl adopt done.
  void end_adopt_mode();
  const std::map<std::string, std::string>& expected() const { return uid_of_; }
  // Keys of expected pods that may have been preempted.
  std::set<std::string> preemptible() const;
  LoopbackClient& client() { return client_; }

 private:
  struct PodPlan {
    std::string uid;  // empty: the gateway gives it one
    int cpu = 100;    // thousandths
    int memory_mi = 16;
    int lasts_ms = 0;
    std::string zone, claim;
    int priority = 0;
    int host_port = 0;  // 0: none
    bool camera = false;
    bool scratch = false;  // has an ephemeral volume
    bool probed = false;   // it asks for a probe
    bool tolerates = false;
    bool bulky = false;
    bool gated = false;
    int generation = 0;  // a label that updates change
  };

  void on_message(const Message&) override {}
  void on_link(bool up) override;
  void act_on_configs();
  std::optional<std::size_t> next_in_rush();
  // A workload of this pod has finished by itself.
  void note_ended(const std::string& uid);
  void set_plan(const std::string& name, PodPlan plan);
  void drop_plan(const std::string& name);
  PodPlan make_plan();
  static Json volumes_of(const PodPlan& plan);
  Json manifest(const std::string& name, const PodPlan& plan) const;
  void note_gone(const std::string& name, const std::string& uid);
  void publish_pod(const std::string& name);
  void publish_tombstone(const std::string& name, const std::string& uid);
  void publish_classes_and_claims();
  static std::string name_of_claim(std::size_t number);
  static std::string class_of_claim(std::size_t number);
  void publish_claim(std::size_t number);
  std::string pick_claim();
  void name_nodes();
  void act_on_volumes();
  void publish_overlay(std::size_t node);
  void publish_budget_and_service();
  void contend(const std::string& name);
  void contend_for_node();
  void apply_by_topic_or_api(const std::string& name, const PodPlan& plan);
  void publish(const std::string& topic, const Json& payload);
  void ask(Json request);

  SimEnvironment& world_;
  Topics topics_;
  LoopbackClient client_;
  LoopbackClient rival_;  // another user, who changes the same objects at the same time
  LoopbackClient* sender_ = &client_;
  std::size_t names_;
  bool rush_;  // nearly all actions create short-lived pods, one name after another
  bool bulky_ = false;
  std::optional<Random> config_random_;  // none: there are no ConfigMaps and Secrets
  std::size_t last_name_ = 0;
  std::set<std::size_t> free_;  // numbers of names without a plan, or whose workload has ended
  std::vector<bool> cordoned_;
  Random pooled_random_;                               // which claims are those of pools
  std::map<std::string, PodPlan> plans_;               // by name
  std::map<std::string, std::string> uid_of_;          // by key: uids of plans_
  std::map<std::string, std::set<std::string>> gone_;  // by key: uids that must not exist
  int uids_ = 0;
  int requests_ = 0;
};

}  // namespace berth::sim
