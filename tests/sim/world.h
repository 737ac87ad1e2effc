// World: one fleet from a seed: a gateway, devices, operators and the weather between them, a storm, and a calm in
// which everything must come to rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/invariants.h"
#include "tests/sim/mirror.h"
#include "tests/sim/operators.h"
#include "tests/sim/orders.h"
#include "tests/sim/provisioner.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/sim_gateway.h"

namespace berth::sim {

struct Plan {
  std::uint64_t seed = 0;
  Millis storm_ms = 90'000;
  Sabotage sabotage = Sabotage::none;
  Mutant mutant = Mutant::none;
  bool print = false;
  std::size_t devices = 0;  // 0: the seed decides
  bool rush = false;        // many short pods in milder weather: binds by the thousand
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
  const Trace& trace() const { return around_.trace; }
  const Counts& counts() const { return around_.counts; }

 private:
  void check();
  void check_liveness(std::uint64_t requests_at_rest);
  void violate(std::string_view name, std::string_view text, const std::string& what);
  bool run_until(Millis end);
  bool is_busy() const { return devices_.size() > 8; }
  void calm_down();
  // Something happens again and again while the storm lasts, `mean` apart on average.
  void now_and_then(Millis mean, std::function<void()> deed);
  void plan_storm();
  void gateway_trouble();
  void device_trouble();
  Process& any_process();
  void clock_trouble();
  void network_trouble();
  void replay_as_another();
  void tell_lies();
  void say_everything();
  void reconnect();
  void check_mirror();
  void check_orders();
  std::set<std::pair<std::string, std::string>> pods_seen() const;  // key, uid
  std::set<std::string> orphans_seen() const;

  const Plan plan_;
  SimEnvironment around_;
  std::vector<std::unique_ptr<SimDevice>> devices_;
  std::vector<SimDevice*> hostile_;
  std::unique_ptr<SimGateway> gateway_;
  std::unique_ptr<Operators> operators_;
  Provisioner provisioner_;
  Reader reader_;
  std::unique_ptr<Orders> orders_;
  std::optional<Violation> violation_;
  std::uint64_t next_full_check_ = 0;  // in events
};

}  // namespace berth::sim
