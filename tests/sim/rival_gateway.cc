#include "tests/sim/rival_gateway.h"

#include <limits>
#include <utility>

#include "plugins/registry.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/sim_gateway.h"

namespace berth::sim {

RivalGateway::RivalGateway(SimEnvironment& world, const std::string& process, std::string gateway)
    : Process(world, process), gateway_name_(std::move(gateway)) {}

void RivalGateway::run_on(const SimGateway& gateway, std::function<bool()> may_connect) {
  switch_off();
  copy_flash_of(gateway);
  key_ = gateway.key();
  machine_ = machine_code(key_);
  may_connect_ = std::move(may_connect);
  boot();
}

void RivalGateway::come_beside(const SimGateway& gateway, std::function<bool()> may_connect) {
  is_copy_ = true;
  run_on(gateway, std::move(may_connect));
}

Status RivalGateway::start_program(Store& store, Transport& transport, Timers& timers) {
  LeadershipOptions leading;
  leading.fleet = kFleet;
  leading.gateway = gateway_name_;
  leading.machine = machine_;
  leading.run = run_ = Random(world().random.next()).hex_id();
  has_heard_original_ = has_taken_over_ = false;
  // It takes over never, since its own store would be the one to watch then. SimGateway shows that.
  leading.takeover_ms = world().mutant == Mutant::p13 ? 0 : std::numeric_limits<std::int32_t>::max();
  GatewayOptions options;
  options.fleet = kFleet;
  options.gateway = gateway_name_;
  options.profiles.push_back(default_profile());
  options.seed = world().random.next();
  options.identity_seed = options.seed + 1;
  options.proof_key = key_;
  leadership_ = std::make_unique<Leadership>(std::move(leading), clock(), timers, log(), transport);
  gateway_ = std::make_unique<Gateway>(std::move(options), registry(), clock(), *leadership_, store, timers, log());
  const Status started = gateway_->start();
  leadership_->set_gateway(*gateway_);
  return started;
}

void RivalGateway::drop_program() {
  gateway_.reset();
  leadership_.reset();
}

void RivalGateway::before_message(Message& message, bool) {
  const std::string presence = Topics(kFleet).root() + "gateways/" + gateway_name_ + "/presence/";
  if (!is_copy_ || message.retain || !message.topic.starts_with(presence) || message.topic.ends_with(run_)) return;
  if (!message.payload.contains(R"("state":"serving")")) return;
  has_heard_original_ = true;
  message.retain = world().mutant == Mutant::p13_copy;
}

void RivalGateway::end_taking_over() {
  if (std::exchange(has_taken_over_, true)) return;
  ++world().counts.faults["copy took over"];
  world().timers.at(world().clock.now(), [this] {
    if (has_taken_over_) switch_off();
  });
}

// Whom it answers it tells that it does not serve.
bool RivalGateway::on_send_watched(Message& message) {
  const std::string root = Topics(kFleet).root();
  const std::string own = root + "gateways/" + gateway_name_ + "/presence/";
  const bool is_serving = message.topic.starts_with(own) && message.payload.contains(R"("state":"serving")");
  const bool is_answer = message.topic.starts_with(root + "clients/");
  if (is_copy_ && !has_heard_original_ && (is_serving || has_taken_over_)) {
    end_taking_over();
    return false;
  }
  if (is_serving || (!message.topic.starts_with(own) && !is_answer)) {
    world().witness.two_serve("a second gateway sends to " + message.topic + " while another one serves");
  }
  return true;
}

}  // namespace berth::sim
