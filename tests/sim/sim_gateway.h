// SimGateway: the gateway's process.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/gateway/gateway.h"
#include "tests/sim/process.h"

namespace berth::sim {

class SimGateway final : public Process {
 public:
  SimGateway(SimEnvironment& world, std::vector<std::string> known_nodes);
  ~SimGateway() override { drop_program(); }

  // The flash is lost; the operator's list of nodes is not (P8).
  void wipe();
  const Gateway* gateway() const { return gateway_.get(); }
  void set_full(bool full) { flash().set_full(full); }
  // It holds all the memory that it may, over a restart too.
  void set_memory_full(bool full);
  // Takes one pod out of the queue behind the gateway's back.
  void sabotage_queue();

 private:
  void forget_at_start() override;
  void take_as_released(const std::string& node, const Request& request);
  void watch_request(const std::string& node, const Request& request);
  void hear_answers(Message& message, const std::string& sender, bool alone);
  Answer misread_answer(const Answer& answer);
  Status start_program(Store& store, Transport& transport, Timers& timers) override;
  Status finish_program() override { return gateway_->finish_turn(); }
  void drop_program() override;
  Message will() const override { return gateway_->will(); }
  bool on_send_watched(Message& message) override;
  void before_message(Message& message, bool alone) override;
  void after_message() override;
  void read_flash(const RecordIds* touched = nullptr) override {
    world().witness.read_gateway(flash().durable(), touched);
  }
  void check_places();
  void check_memory();
  void misbind_claim();
  void impersonate(Message& message, const Answer& answer);

  std::vector<std::string> known_nodes_;
  bool memory_full_ = false;
  int starts_ = 0;
  std::set<std::string> pods_known_;  // by key, while memory is full
  std::unique_ptr<Gateway> gateway_;
};

}  // namespace berth::sim
