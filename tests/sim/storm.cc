#include "tests/sim/storm.h"

#include <utility>

namespace berth::sim {

void repeatedly(SimEnvironment& world, Millis mean, std::function<void()> action) {
  once(world, world.pick(1, 2 * mean), [&world, mean, action = std::move(action)] {
    if (!world.network.is_storm()) return;
    action();
    repeatedly(world, mean, action);
  });
}

void once(SimEnvironment& world, Millis delay, std::function<void()> action) {
  world.timers.at(world.clock.now() + delay, std::move(action));
}

}  // namespace berth::sim
