// RivalGateway: a second gateway of the fleet, on a machine of its own, with a store of its own. It comes for a while
// and must do nothing but wait (P13, S13).
#pragma once

#include <memory>
#include <string>

#include "core/gateway/gateway.h"
#include "core/gateway/leadership.h"
#include "tests/sim/process.h"

namespace berth::sim {

class RivalGateway final : public Process {
 public:
  // `gateway`: the name that it goes by.
  RivalGateway(SimEnvironment& world, std::string gateway);
  ~RivalGateway() override { drop_program(); }

  void switch_off() { kill("switched off"); }

 private:
  void forget_at_start() override {}
  Status start_program(Store& store, Transport& transport, Timers& timers) override;
  Status finish_program() override { return gateway_->finish_turn(); }
  void drop_program() override;
  Message will() const override { return leadership_->will(); }
  bool on_send_watched(Message& message) override;
  void before_message(Message&, bool) override {}
  void after_message() override {}
  void read_flash(const RecordIds*) override {}

  const std::string gateway_name_;
  std::unique_ptr<Leadership> leadership_;
  std::unique_ptr<Gateway> gateway_;
};

}  // namespace berth::sim
