// RivalGateway: a second gateway of the fleet, on a machine of its own, with a store of its own; or the first one,
// which was cut off while another machine took its place, and runs on. It must do nothing but wait (P13, S13).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/gateway/gateway.h"
#include "core/gateway/leadership.h"
#include "tests/sim/process.h"

namespace berth::sim {

class SimGateway;

class RivalGateway final : public Process {
 public:
  // `process`: its name here; `gateway`: the name that it goes by.
  RivalGateway(SimEnvironment& world, const std::string& process, std::string gateway);
  ~RivalGateway() override { drop_program(); }

  void switch_off() { kill("switched off"); }
  // It is a copy of the machine of `gateway`, and comes beside it. It connects while `may_connect`. If it has not heard
  // its original, which may be cut off, it may take that for its own past, and serve: it is switched off then.
  void come_beside(const SimGateway& gateway, std::function<bool()> may_connect);
  // It runs on where `gateway` stops: on that machine, with what that has on flash. It is cut off from the broker until
  // `may_connect`.
  void run_on(const SimGateway& gateway, std::function<bool()> may_connect);

 private:
  void forget_at_start() override {}
  Status start_program(Store& store, Transport& transport, Timers& timers) override;
  Status finish_program() override { return gateway_->finish_turn(); }
  void drop_program() override;
  Message will() const override { return leadership_->will(); }
  bool on_send_watched(Message& message) override;
  void before_message(Message& message, bool alone) override;
  void after_message() override {}
  bool may_connect() const override { return may_connect_ == nullptr || may_connect_(); }
  void read_flash(const RecordIds*) override {}

  void end_taking_over();

  const std::string gateway_name_;
  std::string run_;
  bool is_copy_ = false;
  bool has_heard_original_ = false;  // since this start
  bool has_taken_over_ = false;
  std::string machine_ = "rival";
  ProofKey key_ = {};
  std::function<bool()> may_connect_;
  std::unique_ptr<Leadership> leadership_;
  std::unique_ptr<Gateway> gateway_;
};

}  // namespace berth::sim
