// Decisions: schedules the pending pods of a case one after another and compares every result. After an attempt the
// cluster is changed as recorded, so that one difference does not affect the rest of the case.
#include <algorithm>
#include <set>

#include "core/fastpath/fast_path.h"
#include "core/scheduler/scheduling_cycle.h"
#include "plugins/registry.h"
#include "plugins/volumebinding.h"
#include "tests/conformance/cluster.h"
#include "tests/conformance/compare_decision.h"
#include "tests/conformance/verdict.h"

namespace berth {

namespace {

// 2025-06-01T00:00:00Z: later than every start time in the cases.
constexpr std::int64_t kFirstStart = 1'748'736'000'000;

// The first name among the highest totals, as in the records.
std::size_t first_by_name(const std::vector<NodeScore>& totals) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < totals.size(); ++i) {
    const bool higher = totals[i].score > totals[best].score;
    if (higher || (totals[i].score == totals[best].score && totals[i].node < totals[best].node)) best = i;
  }
  return best;
}

class Run {
 public:
  // An error means that the case cannot be replayed.
  Status set_up(const Json& input) {
    Profile profile = default_profile();
    for (const Json& config : list(at(input, "pluginConfig"))) {
      profile.args[text(at(config, "name"))].value = at(config, "args");
    }
    if (Status loaded = cluster_.load(input); !loaded.is_success()) return loaded;
    Result<std::unique_ptr<Framework>> made = Framework::make(in_tree_registry(), profile, cluster_);
    if (!made) return made.error();
    framework_ = std::move(*made);
    search_.nominator = &cluster_.nominator();
    search_.pick = first_by_name;
    return {};
  }

  void replay(const Json::Array& expect, Verdict& verdict) {
    std::vector<std::string> order;
    for (const auto& pod : cluster_.pending()) order.push_back(pod->metadata.key());
    const std::size_t first_attempts = order.size();
    for (std::size_t i = 0; i < expect.size(); ++i) {
      const std::string key = text(at(expect[i], "pod"));
      const auto pod = cluster_.find_pending(key);
      if (i >= order.size() || order[i] != key || (number(at(expect[i], "attempt")) == 2) != (i >= first_attempts)) {
        verdict.differences.push_back(key + ": unexpected attempt: another pod is next");
        return;
      }
      const NodeSearch before = search_;
      std::vector<std::string> differences = compare_decision(attempt(*pod), expect[i]);
      if (std::string other = decide_by_fast_path(*pod, before); !other.empty())
        differences.push_back(std::move(other));
      if (differences.empty()) {
        ++verdict.same;
      } else {
        std::string line = key + (i < first_attempts ? "" : " (attempt 2)");
        for (const std::string& difference : differences)
          line += (&difference == &differences[0] ? ": " : "; ") + difference;
        verdict.differences.push_back(std::move(line));
      }
      if (i < first_attempts && text(at(at(expect[i], "preemption"), "code")) == "Success") order.push_back(key);
      apply_record(*pod, expect[i], kFirstStart + static_cast<std::int64_t>(i + 1) * 1000);
    }
    for (std::size_t i = expect.size(); i < order.size(); ++i) verdict.differences.push_back(order[i] + ": no record");
  }

 private:
  Attempt attempt(const Pod& pod) {
    Attempt got;
    got.nominated_node = pod.nominated_node_name;
    got.gate = framework_->run_pre_enqueue(pod);
    if (!got.gate.is_success()) return got;
    const Snapshot& snapshot = cluster_.take_snapshot();
    got.result = schedule_pod(*framework_, got.state, pod, snapshot, search_);
    got.rejected = got.result.diagnosis.node_statuses.by_name(snapshot);
    search_.next_start = 0;
    if (!got.result.status.is_success()) return got;
    note_volumes(got);
    const std::string& node = got.result.decision.node;
    got.reserve = framework_->binding().run_reserve(got.state, pod, node);
    framework_->binding().run_unreserve(got.state, pod, node);
    return got;
  }

  // Decides again by the fast path, which is kept over all attempts. Empty: nodes and scores are the same; reasons for
  // rejections are compared only if no node is feasible.
  std::string decide_by_fast_path(const Pod& pod, const NodeSearch& before) {
    if (!framework_->run_pre_enqueue(pod).is_success()) return {};
    CycleState state;
    NodeSearch search = before;
    const ScheduleResult plain = schedule_pod(*framework_, state, pod, cluster_.take_snapshot(), search);
    for (int round = 0; round < 2; ++round) {
      CycleState own;
      search = before;
      const ScheduleResult fast =
          schedule_pod(*framework_, own, pod, cluster_.take_snapshot(), search, fast_path_.get());
      if (fast.status != plain.status) return "by the fast path: status " + fast.status.message();
      if (fast.decision.node != plain.decision.node) return "by the fast path: node " + fast.decision.node;
      if (fast.decision.feasible != plain.decision.feasible || fast.decision.evaluated != plain.decision.evaluated ||
          fast.nominated_node != plain.nominated_node) {
        return "by the fast path: different feasible nodes";
      }
      if (show_scores(fast.decision) != show_scores(plain.decision)) return "by the fast path: different scores";
      if (plain.status.is_success()) continue;
      const Snapshot& snapshot = cluster_.take_snapshot();
      if (fast.diagnosis.node_statuses.by_name(snapshot) != plain.diagnosis.node_statuses.by_name(snapshot)) {
        return "by the fast path: different reasons";
      }
    }
    return {};
  }

  static std::string show_scores(const Decision& decision) {
    std::string text;
    const auto show = [&text](const std::vector<NodeScore>& scores) {
      for (const NodeScore& each : scores) text += " " + each.node + " " + std::to_string(each.score);
      text += "\n";
    };
    show(decision.totals);
    for (const Framework::PluginScores& plugin : decision.plugin_scores) {
      text += plugin.plugin + " x " + std::to_string(plugin.weight);
      show(plugin.scores);
    }
    return text;
  }

  static void note_volumes(Attempt& got) {
    std::vector<std::string> feasible{got.result.decision.node};
    for (const NodeScore& total : got.result.decision.totals) feasible.push_back(total.node);
    for (const std::string& node : feasible) {
      const PodVolumes* decision = VolumeBinding::decision(got.state, node);
      if (decision == nullptr || (decision->bind.empty() && decision->provision.empty())) continue;
      VolumeChoice& choice = got.volumes[node];
      for (const BoundVolume& bound_volume : decision->bind) choice.bound[bound_volume.claim] = bound_volume.volume;
      choice.provisioned = decision->provision;
    }
  }

  // Changes the cluster as recorded.
  void apply_record(const Pod& pod, const Json& record, std::int64_t start) {
    const Json& preemption = at(record, "preemption");
    for (const std::string& victim : strings(at(preemption, "victims"))) cluster_.evict(victim);
    if (const Json& nominated = at(preemption, "nominatedNode"); nominated.is_string()) {
      cluster_.nominate(pod, text(nominated));
    }
    const std::string node = text(at(record, "node"));
    if (node.empty()) return;
    const Json& volumes = at(at(record, "volumes"), node);
    std::vector<BoundVolume> bound_volumes;
    if (const Json& fixed = at(volumes, "static"); fixed.is_object()) {
      for (const auto& [claim, volume] : fixed.as_object()) bound_volumes.push_back({claim, text(volume), {}});
    }
    cluster_.bind_volumes(bound_volumes);
    for (const std::string& claim : strings(at(volumes, "provision"))) cluster_.select_node(claim, node);
    cluster_.place(pod, node, start);
  }

  Cluster cluster_;
  std::unique_ptr<Framework> framework_;
  NodeSearch search_;
  std::unique_ptr<NodeEvaluator> fast_path_ = make_fast_path();
};

}  // namespace

Verdict replay_decisions(const Json& test_case) {
  Verdict verdict;
  Run run;
  if (Status ready = run.set_up(at(test_case, "input")); !ready.is_success()) {
    verdict.differences.assign(std::max<std::size_t>(list(at(test_case, "expect")).size(), 1), ready.message());
    return verdict;
  }
  run.replay(list(at(test_case, "expect")), verdict);
  return verdict;
}

}  // namespace berth
