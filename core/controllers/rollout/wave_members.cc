#include "core/controllers/rollout/wave_members.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <tuple>

#include "core/controllers/percent.h"

namespace berth {
namespace {

auto order_of(const RolloutNode& node, const std::set<std::string>& failed) {
  const bool is_first = node.updated || failed.contains(node.name);
  return std::tuple(!is_first, node.updated ? node.created.value_or(0) : 0, node.silent_since.has_value(),
                    std::string_view(node.name));
}

}  // namespace

WaveMembers wave_members(const RolloutPlan& plan, const std::vector<RolloutNode>& nodes,
                         const std::set<std::string>& failed) {
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return order_of(nodes[a], failed) < order_of(nodes[b], failed); });
  std::vector<bool> is_taken(nodes.size());
  WaveMembers waves;
  for (const RolloutWave& wave : plan.waves) {
    std::vector<std::size_t>& members = waves.emplace_back();
    std::int32_t selected = 0;
    std::int32_t taken = 0;  // of those selected, by earlier waves
    for (const std::size_t each : order) {
      if (!matches(wave.selector, nodes[each].labels.get())) continue;
      ++selected;
      if (is_taken[each]) ++taken;
    }
    std::int32_t wanted = wave.up_to ? scaled_up(wave.up_to, selected) - taken : selected;
    for (const std::size_t each : order) {
      if (wanted <= 0) break;
      if (is_taken[each] || !matches(wave.selector, nodes[each].labels.get())) continue;
      is_taken[each] = true;
      members.push_back(each);
      --wanted;
    }
  }
  return waves;
}

}  // namespace berth
