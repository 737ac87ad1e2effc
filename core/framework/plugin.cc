#include "core/framework/plugin.h"

#include <utility>

namespace berth {

bool FilterPlugin::filter_all(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                              std::vector<std::uint8_t>& rejects) {
  for (std::size_t place = 0; place < snapshot.nodes().size(); ++place) {
    const Status status = filter(state, pod, *snapshot.nodes()[place]);
    if (!status.is_success() && !status.is_rejected()) return false;
    rejects[place] = status.is_success() ? 0 : 1;
  }
  return true;
}

bool ScorePlugin::score_all(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            std::vector<std::int32_t>& scores) {
  for (std::size_t place = 0; place < snapshot.nodes().size(); ++place) {
    std::int64_t whole = 0;
    if (!score(state, pod, *snapshot.nodes()[place], whole).is_success() || !std::in_range<std::int32_t>(whole)) {
      return false;
    }
    scores[place] = static_cast<std::int32_t>(whole);
  }
  return true;
}

}  // namespace berth
