// SimDevice: a device node: a machine with workloads, and its agent's process.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "tests/sim/process.h"
#include "tests/sim/sim_marks.h"
#include "tests/sim/sim_output.h"
#include "tests/sim/sim_pool.h"
#include "tests/sim/sim_puller.h"
#include "tests/sim/sim_runtime.h"

namespace berth::sim {

inline constexpr char kFleet[] = "sim";
inline constexpr std::size_t kMaxSlots = 150;  // NodeLimits of the gateway
inline constexpr std::int64_t kMaxCpu = 64;
inline constexpr char kCamera[] = "sim.berth/camera";  // an extended resource of some nodes

class SimDevice final : public Process {
 public:
  // `config`: without the boot id. `name`: another one than the node's when two devices have that; empty: it.
  SimDevice(SimEnvironment& world, AgentConfig config, std::string name = {});
  ~SimDevice() override;

  // The machine reboots: workloads die too.
  void reboot();
  // The flash is lost; workloads survive.
  void wipe();
  // The flash is replaced by a copy that was made before an earlier start; workloads survive, and so does the
  // mark; or, as when a card is restored from an image, neither does.
  void roll_back(bool keep_mark);
  // The flash is replaced by a copy of another device's, as when a card is cloned; workloads survive.
  void clone(const SimDevice& other);
  // The machine is switched off: workloads die too.
  void switch_off();
  // Before its first start: its machine id, and the serial number of its board.
  void set_machine(const std::string& id, const std::string& serial) {
    config_.machine_id = id;
    config_.hardware_serial = serial;
  }
  // It is set up as another device: what it held is gone.
  void retire();
  SimRuntime& runtime() { return runtime_; }
  SimImages& images() { return images_; }
  const SimOutput& output() const { return output_; }
  const SimPool& pool() const { return pool_; }
  // Somebody has put data into its pool, and takes it away again where it has not become a volume.
  void take_data_away();
  // As on flash.
  std::map<std::string, MadeVolume> made_volumes() const;
  // It may have no record of what lies in its pool: its store was lost, or an older copy, at some time, or somebody has
  // put data there.
  bool may_lack_records() const { return has_lost_store_ || !put_in_.empty(); }

 private:
  void forget_at_start() override;
  void on_request(const Request& request, bool alone);
  std::unique_ptr<SimPuller> make_puller(Timers& timers);
  void check_fetch(const Tag& tag);
  void put_data(const Request& pre_bind);
  void flood_listing(const Request& list);
  Request misread_request(const Request& request);
  Status start_program(Store& store, Transport& transport, Timers& timers) override;
  Status finish_program() override { return agent_->finish_turn(); }
  void drop_program() override;
  bool may_connect() const override { return !agent_->state().incarnation.empty(); }
  Message will() const override { return agent_->will(); }
  bool on_send_watched(Message& message) override;
  void before_message(Message& message, bool alone) override;
  void after_message() override;
  void read_flash(const RecordIds* touched = nullptr) override;
  void check_time_floor();
  void sabotage_flash();
  void double_a_slot();
  DeviceIdentity identity() const { return {config_.fleet, config_.node, config_.machine_id, config_.hardware_serial}; }

  AgentConfig config_;
  SimPool pool_;
  SimRuntime runtime_;
  SimImages images_;
  SimOutput output_;
  SimMarks marks_;
  SimTime time_;
  std::unique_ptr<TimeFloor> time_floor_;
  Millis floor_at_start_ = 0;
  struct Copy {
    MemoryStore flash;
    std::optional<StoreMark> mark;
    std::optional<std::string> rolled_back;
  };
  std::deque<Copy> copies_;                 // of the flash, as earlier starts found it
  std::optional<std::string> rolled_back_;  // the incarnation of a copy that the agent has to notice
  std::unique_ptr<CutRuntime> cut_runtime_;
  std::unique_ptr<SimPuller> puller_;
  std::unique_ptr<CutPool> cut_pool_;
  std::unique_ptr<Agent> agent_;
  std::optional<Request> repeated_;                // sabotage S6
  std::map<std::string, std::string> last_slots_;  // sabotage FINAL: earlier slots, by uid
  std::uint64_t floods_ = 0;                       // of a lying device
  bool has_lost_store_ = false;
  std::set<std::string> put_in_;  // the volumes at whose path somebody has put data
  std::string incarnation_;       // as last on flash
  bool is_told_ = false;          // in this turn, that its store is an older copy
  int boots_ = 0;
  Millis started_at_ = 0;  // on the machine's clock
};

}  // namespace berth::sim
