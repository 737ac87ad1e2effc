#include "core/framework/plugin.h"

#include <utility>

#include "core/api/pod.h"

namespace berth {

bool FilterPlugin::filter_all(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                              std::vector<std::uint8_t>& rejects) {
  for (std::size_t index = 0; index < snapshot.nodes().size(); ++index) {
    const Status status = filter(state, pod, *snapshot.nodes()[index]);
    if (!status.is_success() && !status.is_rejected()) return false;
    rejects[index] = status.is_success() ? 0 : 1;
  }
  return true;
}

bool ScorePlugin::score_all(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            std::vector<std::int32_t>& scores) {
  for (std::size_t index = 0; index < snapshot.nodes().size(); ++index) {
    std::int64_t whole = 0;
    if (!score(state, pod, *snapshot.nodes()[index], whole).is_success() || !std::in_range<std::int32_t>(whole)) {
      return false;
    }
    scores[index] = static_cast<std::int32_t>(whole);
  }
  return true;
}

}  // namespace berth
