// World: the simulation of one fleet from a seed: a gateway, devices, operators and the network between them. After a
// phase with faults ("storm") follows a quiet phase, in which everything must settle.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/copied_gateways.h"
#include "tests/sim/invariants.h"
#include "tests/sim/lost_machines.h"
#include "tests/sim/mirror.h"
#include "tests/sim/operators.h"
#include "tests/sim/orders.h"
#include "tests/sim/provisioner.h"
#include "tests/sim/put_back_cards.h"
#include "tests/sim/second_gateways.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/sim_gateway.h"
#include "tests/sim/twins.h"
#include "tests/sim/workload_operator.h"

namespace berth::sim {

struct Plan {
  std::uint64_t seed = 0;
  Millis storm_ms = 90'000;
  Sabotage sabotage = Sabotage::none;
  Mutant mutant = Mutant::none;
  bool print = false;
  std::size_t devices = 0;            // 0: drawn from the seed
  MessageShapes* messages = nullptr;  // gets every message of the programs; null: nobody
  bool configs = false;               // pods refer to a ConfigMap and a Secret, which change
  bool evictions = false;             // devices end pods by themselves
  bool workloads = false;             // somebody applies, rolls out and deletes a Deployment
  bool pulls = false;                 // images are fetched before pods start
  bool rush = false;                  // many short-lived pods and few faults, for thousands of binds
};

struct Violation {
  std::string invariant;
  std::string text;
  std::string what;
  Millis at = 0;
};

class World {
 public:
  explicit World(const Plan& plan);
  ~World();

  // False: an invariant was violated.
  bool run();
  const std::optional<Violation>& violation() const { return violation_; }
  const Trace& trace() const { return env_.trace; }
  const Counts& counts() const { return env_.counts; }

 private:
  void check();
  void check_liveness(std::uint64_t requests_at_rest);
  void violate(std::string_view name, std::string_view text, const std::string& what);
  bool run_until(Millis end);
  bool is_busy() const { return devices_.size() > 8; }
  void stop_faults();
  void plan_storm();
  void plan_pulls();
  bool draws_one_in(std::uint64_t one_in, bool asked) const;
  void gateway_trouble();
  void device_trouble();
  Process& any_process();
  void clock_trouble();
  bool may_forget_leader();
  void restart_broker();
  void network_trouble();
  void replay_as_another();
  void send_lies();
  void republish_all();
  void reconnect();
  void leave_junk();
  void check_mirror();
  void check_orders();
  void check_workloads();
  std::set<std::pair<std::string, std::string>> pods_seen() const;  // key and uid

  const Plan plan_;
  SimEnvironment env_;
  std::vector<std::unique_ptr<SimDevice>> devices_;
  std::vector<SimDevice*> hostile_;
  std::unique_ptr<SimGateway> gateway_;
  std::unique_ptr<Operators> operators_;
  Provisioner provisioner_;
  Reader reader_;
  std::deque<LoopbackBroker::RetainedSet> retained_before_;  // what the broker retained at some times
  Random going_back_;
  Twins twins_;
  std::unique_ptr<LostMachines> lost_machines_;
  std::unique_ptr<SecondGateways> second_gateways_;
  std::unique_ptr<CopiedGateways> copied_gateways_;
  std::unique_ptr<PutBackCards> put_back_cards_;
  std::unique_ptr<Orders> orders_;
  std::unique_ptr<WorkloadOperator> deployer_;  // null: there are no workloads
  std::optional<Violation> violation_;
  std::uint64_t next_full_check_ = 0;  // number of events
};

}  // namespace berth::sim
