#include "firmware-host/agent/active_deadline.h"

#include <algorithm>
#include <optional>

#include "core/api/timestamp.h"

namespace berth {

ActiveSince active_since(const ActiveSince& known, const std::string& started_at, const std::string& boot,
                         const Clock& clock) {
  if (!known.boot.empty() && known.boot == boot) return known;
  const auto began = parse_timestamp(started_at);
  if (!began || !is_clock_set(*began) || !is_clock_set(clock.wall())) return {boot, clock.now()};
  return {boot, clock.now() - std::max<Millis>(clock.wall() - *began, 0)};
}

}  // namespace berth
