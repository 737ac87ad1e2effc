#include "tests/sim/copied_gateways.h"

#include <utility>

#include "tests/sim/network_faults.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/storm.h"

namespace berth::sim {

namespace {

// As with other machines, no request lives as long as the other one serves. A broker of its own has none of the other's
// messages, so there a change may be quick.
constexpr std::uint64_t kAwayLongerMs = 8'000, kOtherBrokerMs = 5'000;
constexpr Millis kComesEveryMs = 15'000;
constexpr std::uint64_t kBesideMs = 20'000;
constexpr std::uint64_t kMostTurns = 4;

}  // namespace

CopiedGateways::CopiedGateways(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed)
    : world_(world), gateway_(gateway), random_(seed ^ 0x434f5059) {}

void CopiedGateways::begin_storm(Millis storm_ms, std::function<void()> forget_retained) {
  forget_retained_ = std::move(forget_retained);
  const bool is_beside = world_.mutant == Mutant::p13_copy, is_in_turn = world_.mutant == Mutant::p13_term;
  if (world_.mutant == Mutant::p11) return;  // a copy that serves has no mark of a later time
  are_there_ = random_.chance(1, 3) || is_beside || is_in_turn;
  if (!are_there_) return;
  if ((random_.chance(1, 2) || is_beside) && !is_in_turn) {
    copy_ = std::make_unique<RivalGateway>(world_, "copy", kGateway);
    repeatedly(world_, kComesEveryMs, [this] { let_copy_come(); });
    if (is_beside || random_.chance(1, 2)) return;
  }
  has_own_broker_ = !is_in_turn && random_.chance(1, 3);
  for (std::uint64_t nth = 1 + random_.below(kMostTurns); nth > 0; --nth) {
    const auto delay = static_cast<Millis>(random_.below(static_cast<std::uint64_t>(storm_ms)));
    once(world_, delay, [this] { take_turns(); });
  }
}

void CopiedGateways::end_storm() {
  if (copy_ != nullptr) copy_->switch_off();
}

// The image is that of the running original.
void CopiedGateways::let_copy_come() {
  if (!gateway_.leads() || copy_->is_alive()) return;
  ++world_.counts.faults["copied gateway"];
  world_.note("world", "a copy of the gateway's machine is started beside it");
  copy_->come_beside(gateway_, [this] { return gateway_.leads(); });
  once(world_, static_cast<Millis>(1 + random_.below(kBesideMs)), [this] { copy_->switch_off(); });
}

// One is switched off, and the other one on. The first time that is the copy, of a card that was switched off.
void CopiedGateways::take_turns() {
  if (!world_.network.is_storm() || !gateway_.has_copies() || !gateway_.leads()) return;
  ++world_.counts.faults[has_own_broker_ ? "copy in turn, with its broker" : "copy in turn"];
  world_.note("world", "the copy of the gateway's machine is switched on in its place");
  end_storm();
  forget_retained_();
  world_.gateway_store_lost = true;
  gateway_.copy_machine(random_);
  if (!has_own_broker_) {
    const auto longer = static_cast<Millis>(random_.below(kAwayLongerMs));
    return gateway_.switch_to_copy(NetworkFaults::kLongestDelayMs + longer, true);
  }
  world_.broker.restart(static_cast<Millis>(random_.below(kOtherBrokerMs)));
  gateway_.switch_to_copy(static_cast<Millis>(random_.below(kAwayLongerMs)), false);
}

}  // namespace berth::sim
