// Operators: a fleet controller that wants a changing set of pods and says so again and again, and people at the api.
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

class Operators final : private Transport::Handler {
 public:
  Operators(SimEnvironment& world, std::size_t names, std::size_t nodes, bool rush);
  ~Operators() override {
    client_.set_handler(nullptr);
    rival_.set_handler(nullptr);
  }

  void connect();
  // Many pods have manifests so large that a page of a listing holds two of them.
  void set_bulky() { bulky_ = true; }
  // One deed: apply, update, delete, re-create, overlay of a node, budget and service.
  void act();
  // Says again all that is wanted and what is not. `seen`: pods that exist somewhere or wait for their name, key and
  // uid. `orphans`: uids of workloads that the gateway asks about.
  void repeat_all(const std::set<std::pair<std::string, std::string>>& seen, const std::set<std::string>& orphans);
  // Ends what would keep pods from fitting: cordons and gates.
  void settle();
  const std::map<std::string, std::string>& wanted() const { return uid_of_; }
  // Uids of wanted pods that others may have driven out.
  std::set<std::string> preemptible() const;
  LoopbackClient& client() { return client_; }

 private:
  struct PodPlan {
    std::string uid;
    int cpu = 100;  // thousandths
    int memory_mi = 16;
    int lasts_ms = 0;
    std::string zone, claim;
    int priority = 0;
    int host_port = 0;  // 0: none
    bool camera = false;
    bool tolerates = false;
    bool bulky = false;
    bool gated = false;
    int generation = 0;  // a label that updates change
  };

  void on_message(const Message&) override {}
  void on_link(bool up) override;
  std::optional<std::size_t> next_in_rush();
  // A workload of this pod has ended by itself.
  void note_ended(const std::string& uid);
  void set_plan(const std::string& name, PodPlan plan);
  void drop_plan(const std::string& name);
  PodPlan make_plan();
  Json manifest(const std::string& name, const PodPlan& plan) const;
  void say_pod(const std::string& name);
  void say_tombstone(const std::string& name, const std::string& uid);
  void say_static();
  static std::string name_of_claim(std::size_t number);
  void say_claim(std::size_t number);
  std::string pick_claim();
  void act_on_volumes();
  void say_overlay(std::size_t node);
  void say_grouping();
  void contend(const std::string& name);
  void contend_for_node();
  void apply_by_any(const std::string& name, const PodPlan& plan);
  void publish(const std::string& topic, const Json& payload);
  void ask(Json request);

  SimEnvironment& world_;
  Topics topics_;
  LoopbackClient client_;
  LoopbackClient rival_;  // another person, at the same objects in the same moment
  LoopbackClient* speaker_ = &client_;
  std::size_t names_;
  bool rush_;  // nearly all deeds are new pods that end soon, name after name
  bool bulky_ = false;
  std::size_t last_name_ = 0;
  std::set<std::size_t> free_;  // numbers of names that have no plan, or one whose workload has ended
  std::vector<bool> cordoned_;
  std::map<std::string, PodPlan> plans_;               // by name
  std::map<std::string, std::string> uid_of_;          // key -> uid, of plans_
  std::map<std::string, std::set<std::string>> gone_;  // key -> uids that must not be
  int uids_ = 0;
  int requests_ = 0;
};

}  // namespace berth::sim
