#include "core/framework/exhaustive_run.h"

#include "core/api/pod.h"

namespace berth {

std::vector<ExhaustiveRun::Verdict> ExhaustiveRun::pre_filter(CycleState& state, const Pod& pod,
                                                              const Snapshot& snapshot) const {
  state.skip_filter.reset();
  std::vector<Verdict> verdicts;
  for (const auto& entry : plugins_.pre_filter) {
    PreFilterResult mine;
    Status status = entry.plugin->pre_filter(state, pod, snapshot, mine);
    if (!status.is_success()) state.skip_filter.set(entry.number);
    if (status.is_skip()) continue;
    status.set_plugin(entry.name);
    verdicts.push_back({std::move(status), std::move(mine.node_names)});
  }
  return verdicts;
}

std::vector<Status> ExhaustiveRun::filter(CycleState& state, const Pod& pod, const NodeInfo& node) const {
  std::vector<Status> verdicts;
  for (const auto& entry : plugins_.filter) {
    if (state.skip_filter.test(entry.number)) continue;
    verdicts.push_back(entry.plugin->filter(state, pod, node));
    verdicts.back().set_plugin(entry.name);
  }
  return verdicts;
}

std::map<std::string, std::int64_t> ExhaustiveRun::raw_scores(CycleState& state, const Pod& pod,
                                                              const NodeInfo& node) const {
  std::map<std::string, std::int64_t> scores;
  for (const auto& entry : plugins_.score) {
    if (state.skip_score.test(entry.number)) continue;
    std::int64_t score = 0;
    if (entry.plugin->score(state, pod, node, score).is_success()) scores[entry.name] = score;
  }
  return scores;
}

}  // namespace berth
