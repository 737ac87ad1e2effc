#include "tests/sim/put_back_cards.h"

#include <utility>

#include "tests/sim/storm.h"

namespace berth::sim {

namespace {

constexpr std::uint64_t kBrokerAwayMs = 5'000;

}  // namespace

PutBackCards::PutBackCards(SimEnvironment& world, SimGateway& gateway, std::uint64_t seed)
    : world_(world), gateway_(gateway), random_(seed ^ 0x43415244) {}

void PutBackCards::begin_storm(Millis storm_ms, std::function<void()> forget_retained) {
  forget_retained_ = std::move(forget_retained);
  const bool is_of_rule = world_.mutant == Mutant::p12_before;
  if (!is_of_rule && !random_.chance(1, 3)) return;
  for (std::uint64_t nth = 1 + random_.below(is_of_rule ? 4 : 2); nth > 0; --nth) {
    const auto delay = static_cast<Millis>(random_.below(static_cast<std::uint64_t>(storm_ms)));
    once(world_, delay, [this] { put_back(); });
  }
}

void PutBackCards::put_back() {
  if (!world_.network.is_storm() || !gateway_.has_copies()) return;
  ++world_.counts.faults["card put back"];
  world_.note("world", "the card of gateway and broker is put back from an image");
  world_.gateway_store_lost = true;
  forget_retained_();
  world_.broker.restart(static_cast<Millis>(random_.below(kBrokerAwayMs)));
  gateway_.put_back_card(random_);
}

}  // namespace berth::sim
