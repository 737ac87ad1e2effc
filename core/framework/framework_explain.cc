// Plugin calls for explanations: the result of every plugin, where a decision stops at the first one that settles it.
#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

std::vector<Framework::Verdict> Framework::ask_every_pre_filter(CycleState& state, const Pod& pod,
                                                                const Snapshot& snapshot) const {
  state.skip_filter.reset();
  std::vector<Verdict> verdicts;
  for (const auto& entry : pre_filter_) {
    PreFilterResult mine;
    Status status = entry.plugin->pre_filter(state, pod, snapshot, mine);
    if (!status.is_success()) state.skip_filter.set(entry.number);
    if (status.is_skip()) continue;
    status.set_plugin(entry.name);
    verdicts.push_back({std::move(status), std::move(mine.node_names)});
  }
  return verdicts;
}

std::vector<Status> Framework::ask_every_filter(CycleState& state, const Pod& pod, const NodeInfo& node) const {
  std::vector<Status> verdicts;
  for (const auto& entry : filter_) {
    if (state.skip_filter.test(entry.number)) continue;
    verdicts.push_back(entry.plugin->filter(state, pod, node));
    verdicts.back().set_plugin(entry.name);
  }
  return verdicts;
}

std::map<std::string, std::int64_t> Framework::raw_scores(CycleState& state, const Pod& pod,
                                                          const NodeInfo& node) const {
  std::map<std::string, std::int64_t> scores;
  for (const auto& entry : score_) {
    if (state.skip_score.test(entry.number)) continue;
    std::int64_t score = 0;
    if (entry.plugin->score(state, pod, node, score).is_success()) scores[entry.name] = score;
  }
  return scores;
}

}  // namespace berth
