// SimGateway: the gateway's process.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/gateway/gateway.h"
#include "core/gateway/leadership.h"
#include "tests/sim/process.h"
#include "tests/sim/sim_marks.h"

namespace berth::sim {

const Registry& registry();  // of the plugins that gateways have

class SimGateway final : public Process {
 public:
  SimGateway(SimEnvironment& world, std::vector<std::string> nodes);
  ~SimGateway() override { drop_program(); }

  // The flash is lost, but not the operator's list of nodes (P8); the key in some cases.
  void wipe();
  // The machine is replaced: nothing of the flash, the mark, the key and earlier copies is left. `is_marked_new`: as an
  // installation marks it; otherwise as on a machine that had a store. `has_list`: the configuration or accounts tell
  // which nodes there are.
  void replace_machine(bool is_marked_new, bool has_list, Millis away);
  // The flash is replaced by a copy that was made before an earlier start.
  void roll_back();
  // Flash, mark and key are as they were before an earlier start.
  void put_back_card(Random& random);
  bool has_copies() const { return !copies_.empty(); }
  // Another machine serves the fleet from now on, with a store of its own; at the next call this one again.
  void hand_over(Millis away);
  // The other machine is a copy of this one, from before an earlier start; nothing if there is one already.
  void copy_machine(Random& random);
  // hand_over() to it, and back. `has_leader`: the broker is the same, and retains who has led.
  void switch_to_copy(Millis away, bool has_leader);
  // The broker retains that this gateway serves the fleet, under its present term.
  bool leads() const;
  const Gateway* gateway() const { return gateway_.get(); }
  const ProofKey& key() const { return key_; }
  void set_full(bool full) { flash().set_full(full); }
  // The memory limit is reached; remains so across a restart.
  void set_memory_full(bool full);
  // Removes one pod from the queue without the gateway's knowledge.
  void sabotage_queue();

 private:
  void make_key(ProofKey& key);
  void change_machine();
  void set_wall_clock(Random random);
  void note_installed();
  void forget_at_start() override;
  void take_as_released(const std::string& node, const Request& request);
  void watch_request(const std::string& node, const Request& request);
  void on_answers(Message& message, const std::string& sender, bool alone);
  Answer misread_answer(const Answer& answer);
  Status start_program(Store& store, Transport& transport, Timers& timers) override;
  Status finish_program() override { return gateway_->finish_turn(); }
  void drop_program() override;
  Message will() const override { return leadership_->will(); }
  bool on_send_watched(Message& message) override;
  void before_message(Message& message, bool alone) override;
  void after_message() override;
  void read_flash(const RecordIds* touched = nullptr) override {
    world().witness.read_gateway(flash().durable(), touched);
  }
  void check_mark_noticed();
  void check_queue_restored();
  void check_memory();
  void misbind_claim();
  void believe_hostnames();
  void forget_named_nodes();
  void end_backoffs();
  void forget_refusals();
  static void unsay_features(Message& message);
  void misread_leader(Message& message) const;
  void free_names();
  void impersonate(Message& message, const Answer& answer);

  const std::vector<std::string> nodes_;
  // What its machine is set up with.
  std::vector<std::string> known_nodes_, enrolled_nodes_;
  FirstBoot first_boot_ = FirstBoot::lost;
  SimMarks marks_;
  ProofKey key_ = {};  // beside the flash too
  struct Copy {
    MemoryStore flash;
    std::optional<StoreMark> mark;
    ProofKey key = {};
  };
  std::deque<Copy> copies_;  // as earlier starts found it
  struct Machine {
    MemoryStore flash;
    std::optional<StoreMark> mark;
    ProofKey key = {};
    std::deque<Copy> copies;
    FirstBoot first_boot = FirstBoot::is_new;
  };
  Machine other_;            // that does not serve
  std::string older_store_;  // id of a copy that the next start has to notice by its mark (P11); empty: none
  bool memory_full_ = false;
  int starts_ = 0;
  std::set<std::string> pods_known_;  // by key, while memory is full
  std::unique_ptr<Leadership> leadership_;
  std::unique_ptr<Gateway> gateway_;
};

}  // namespace berth::sim
