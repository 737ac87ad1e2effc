#include "core/framework/exhaustive_run.h"

#include <algorithm>

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

std::vector<Status> ExhaustiveRun::admit(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                                         const NodeInfo& node) const {
  std::vector<Status> rejections;
  const std::vector<Verdict> before = pre_filter(state, pod, snapshot);
  for (const auto& entry : plugins_.filter) {
    auto* admission = dynamic_cast<AdmissionPlugin*>(entry.plugin);
    if (admission == nullptr) continue;
    const auto verdict = std::find_if(before.begin(), before.end(),
                                      [&entry](const Verdict& each) { return each.status.plugin() == entry.name; });
    Status status;
    if (verdict != before.end() && !verdict->status.is_success()) {
      status = verdict->status;
    } else if (!state.skip_filter.test(entry.number)) {
      status = admission->admit(state, pod, node);
    }
    status.set_plugin(entry.name);
    if (!status.is_success()) rejections.push_back(std::move(status));
  }
  return rejections;
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
