#include "tests/sim/second_gateways.h"

#include <utility>

#include "core/handshake/gateway_presence.h"
#include "core/handshake/topics.h"
#include "tests/sim/network_faults.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/storm.h"

namespace berth::sim {

namespace {

// Another machine serves up to so much longer than any message is on its way. As in a fleet, no request lives as long
// as a takeover takes.
constexpr std::uint64_t kServesLongerMs = 8'000;
constexpr std::uint64_t kRivalMs = 20'000;

}  // namespace

SecondGateways::SecondGateways(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed)
    : world_(world), gateway_(gateway), random_(seed ^ 0x53484152), former_(world, "former", kGateway) {}

void SecondGateways::begin_storm(Millis storm_ms, std::function<void()> forget_retained) {
  if (world_.mutant == Mutant::p13_term || world_.mutant == Mutant::p13_copy) return;
  forget_retained_ = std::move(forget_retained);
  if (world_.mutant == Mutant::p13 || random_.chance(1, 4)) {
    rival_ = std::make_unique<RivalGateway>(world_, "rival", random_.chance(1, 2) ? kGateway : "other");
    repeatedly(world_, 15'000, [this] { let_rival_come(); });
  }
  are_there_ = rival_ != nullptr;
  if (world_.mutant != Mutant::p13_follow && !random_.chance(1, 4)) return;
  are_there_ = true;
  for (std::uint64_t nth = 1 + random_.below(2); nth > 0; --nth) {
    const auto delay = static_cast<Millis>(random_.below(static_cast<std::uint64_t>(storm_ms / 2)));
    once(world_, delay, [this] { hand_over(); });
  }
}

void SecondGateways::end_storm() {
  if (rival_ != nullptr) rival_->switch_off();
  former_.switch_off();
}

// The broker knows that this gateway serves the fleet: this one, not a copy of its store that did before.
bool SecondGateways::gateway_leads() const {
  const auto retained = world_.broker.retained_set().find(Topics(kFleet).leader());
  const Gateway* gateway = gateway_.gateway();
  if (gateway == nullptr || retained == world_.broker.retained_set().end()) return false;
  const Result<Leader> leader = decode_leader(retained->second.message.payload);
  return leader && leader->id == gateway->identity().id;
}

void SecondGateways::let_rival_come() {
  if (!gateway_leads() || rival_->is_alive()) return;
  ++world_.counts.faults["second gateway"];
  rival_->boot();
  once(world_, static_cast<Millis>(1 + random_.below(kRivalMs)), [this] { rival_->switch_off(); });
}

void SecondGateways::hand_over() {
  if (!world_.network.is_storm() || !gateway_leads()) return;
  ++world_.counts.faults["gateway handed over"];
  world_.note("world", "another machine serves the fleet");
  forget_retained_();
  former_.switch_off();
  if (random_.chance(1, 2)) {
    ++world_.counts.faults["replaced gateway runs on"];
    former_.run_on(gateway_, [this] { return gateway_leads(); });
  }
  gateway_.hand_over(NetworkFaults::kLongestDelayMs + static_cast<Millis>(random_.below(kServesLongerMs)));
}

// Who has not read yet that another gateway has served would never learn that (core/handshake/limits.md). And a second
// one may serve when nobody knows who does.
bool SecondGateways::may_forget_leader() {
  if (world_.witness.gateway().is_behind) return false;
  end_storm();
  return true;
}

std::optional<Millis> SecondGateways::next_due() const {
  std::optional<Millis> next = former_.next_due();
  const std::optional<Millis> other = rival_ == nullptr ? std::nullopt : rival_->next_due();
  if (other && (!next || *other < *next)) next = other;
  return next;
}

void SecondGateways::run_due() {
  if (rival_ != nullptr) rival_->run_due();
  former_.run_due();
}

}  // namespace berth::sim
