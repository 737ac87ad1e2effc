#include "core/controllers/nodes/taint_eviction_rules.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

namespace berth {
namespace {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

// Seconds as Go's time.Duration holds them, in nanoseconds that wrap around; rounded up to milliseconds. None:
// negative, which upstream takes for endless.
std::optional<Millis> wrapped_duration(std::int64_t seconds) {
  const auto nanoseconds = static_cast<std::int64_t>(static_cast<std::uint64_t>(seconds) * 1'000'000'000U);
  if (nanoseconds < 0) return std::nullopt;
  return nanoseconds / 1'000'000 + (nanoseconds % 1'000'000 == 0 ? 0 : 1);
}

}  // namespace

std::vector<NodeTaint> no_execute_taints(const ControlledNode& node) {
  std::vector<NodeTaint> found;
  std::copy_if(node.taints.begin(), node.taints.end(), std::back_inserter(found),
               [](const NodeTaint& taint) { return taint.effect == TaintEffect::no_execute; });
  return found;
}

TaintTolerance tolerance_of(const std::vector<NodeTaint>& taints, const std::vector<Toleration>& tolerations) {
  if (taints.empty()) return {.tolerates_all = true, .limit = 0};
  std::int64_t shortest = kEndless;
  for (const NodeTaint& taint : taints) {
    const auto first = std::find_if(tolerations.begin(), tolerations.end(),
                                    [&](const Toleration& each) { return tolerates(each, taint); });
    if (first == tolerations.end()) return {};
    shortest = std::min(shortest, std::max<std::int64_t>(0, first->toleration_seconds.value_or(kEndless)));
  }
  if (shortest == kEndless) return {.tolerates_all = true, .limit = std::nullopt};
  return {.tolerates_all = true, .limit = wrapped_duration(shortest)};
}

}  // namespace berth
