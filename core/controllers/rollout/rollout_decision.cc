#include "core/controllers/rollout/rollout_decision.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/controllers/percent.h"
#include "core/controllers/rollout/download_windows.h"
#include "core/controllers/rollout/node_progress.h"
#include "core/controllers/rollout/rollout_message.h"
#include "core/controllers/rollout/wave_members.h"

namespace berth {
namespace {

using Phase = RolloutStatus::Phase;

void wake_no_later_than(std::optional<Millis>& wake_at, const std::optional<Millis>& when) {
  if (when) wake_at = std::min(wake_at.value_or(*when), *when);
}

void enter_wave(RolloutStatus& status, const RolloutPlan& plan, std::size_t wave, Millis now) {
  status.wave = static_cast<std::int32_t>(wave);
  status.wave_name = plan.waves[wave].name;
  status.wave_started = now;
  status.soaking_since.reset();
}

void complete(RolloutStatus& status) {
  status.phase = Phase::complete;
  status.stable_revision = status.revision;
  status.soaking_since.reset();
  status.failed.clear();
  status.silent_on_trial.clear();
}

// The plan may have changed since: its waves are known by their names.
void find_wave(RolloutStatus& status, const RolloutPlan& plan) {
  const auto found = std::find_if(plan.waves.begin(), plan.waves.end(),
                                  [&](const RolloutWave& wave) { return wave.name == status.wave_name; });
  const auto last = static_cast<std::int32_t>(plan.waves.size()) - 1;
  status.wave =
      found == plan.waves.end() ? std::min(status.wave, last) : static_cast<std::int32_t>(found - plan.waves.begin());
  status.wave_name = plan.waves[static_cast<std::size_t>(status.wave)].name;
}

RolloutStatus start(const RolloutInput& input, std::string stable) {
  RolloutStatus status;
  status.revision = input.revision;
  status.stable_revision = std::move(stable);
  enter_wave(status, input.plan, 0, input.now);
  const bool is_proved = input.revision == status.stable_revision;
  // A plan that comes to a fleet that runs the revision already changes nothing there.
  const bool is_everywhere =
      !input.before && input.running.empty() &&
      std::any_of(input.nodes.begin(), input.nodes.end(), [](auto& node) { return node.updated; });
  if (is_proved || is_everywhere) {
    enter_wave(status, input.plan, input.plan.waves.size() - 1, input.now);
    complete(status);
  }
  return status;
}

// The status before this look: of the same revision as it was, or else the start of a rollout.
RolloutStatus continued(const RolloutInput& input) {
  if (!input.before) return start(input, input.running);
  const std::string& stable = input.before->stable_revision;
  if (input.before->revision != input.revision) return start(input, input.revisions.contains(stable) ? stable : "");
  RolloutStatus status = *input.before;
  if (!input.revisions.contains(stable)) {
    status.stable_revision.clear();
    if (status.phase == Phase::rolled_back) status.phase = Phase::stopped;  // nothing is left to go back to
  }
  find_wave(status, input.plan);
  return status;
}

// One look at the waves.
class Look {
 public:
  Look(const RolloutInput& input, RolloutStatus status)
      : input_(input),
        status_(std::move(status)),
        had_failed_(status_.failed.begin(), status_.failed.end()),
        members_(wave_members(input.plan, input.nodes, had_failed_)) {}

  RolloutDecision decide() {
    if (status_.phase == Phase::complete || status_.phase == Phase::rolled_back) return follow();
    note_silent();
    if (!input_.paused) {
      while (go_on()) {
      }
    }
    if (input_.paused) {
      judge();
      status_.phase = Phase::paused;
    }
    if (status_.phase == Phase::complete || status_.phase == Phase::rolled_back) return follow();
    return open_waves();
  }

 private:
  std::size_t wave() const { return static_cast<std::size_t>(status_.wave); }
  const RolloutWave& present_wave() const { return input_.plan.waves[wave()]; }

  void note_silent() {
    const std::map<std::string, Millis> known = std::exchange(status_.silent_on_trial, {});
    for (const RolloutNode& node : input_.nodes) {
      if (!node.silent_since || !node.updated) continue;
      const auto found = known.find(node.name);
      const Millis since = found == known.end() ? *node.silent_since : std::min(found->second, *node.silent_since);
      if (!has_proved_itself(input_.plan, node, since)) status_.silent_on_trial.emplace(node.name, since);
    }
  }

  NodeProgress progress_now(const RolloutNode& node) const {
    const bool had_failed = had_failed_.contains(node.name);
    const Millis started = status_.wave_started.value_or(input_.now);
    const auto known = status_.silent_on_trial.find(node.name);
    if (known == status_.silent_on_trial.end()) return progress_of(input_.plan, node, had_failed, started, input_.now);
    RolloutNode silent = node;
    silent.silent_since = known->second;
    return progress_of(input_.plan, silent, had_failed, started, input_.now);
  }

  void judge() {
    progress_.assign(input_.nodes.size(), {});
    status_.failed.clear();
    for (std::size_t i = 0; i <= wave(); ++i) {
      for (const std::size_t each : members_[i]) {
        const RolloutNode& node = input_.nodes[each];
        progress_[each] = progress_now(node);
        if (progress_[each].state == NodeProgress::State::failed) status_.failed.push_back(node.name);
      }
    }
    std::sort(status_.failed.begin(), status_.failed.end());
  }

  std::int32_t count(const std::vector<std::size_t>& nodes, NodeProgress::State state) const {
    return static_cast<std::int32_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](std::size_t each) { return progress_[each].state == state; }));
  }

  bool has_failed() const {
    return std::any_of(members_.begin(), members_.begin() + status_.wave + 1, [&](const auto& nodes) {
      return count(nodes, NodeProgress::State::failed) >
             scaled_down(input_.plan.max_failed, static_cast<std::int32_t>(nodes.size()));
    });
  }

  // While a wave soaks, nodes that come to it late are not waited for.
  bool is_waited_for(std::size_t each) const {
    const RolloutNode& node = input_.nodes[each];
    if (progress_[each].is_done()) return false;
    return !status_.soaking_since || (node.updated && node.created.value_or(0) <= *status_.soaking_since);
  }

  // Whether another look is due: the next wave has begun.
  bool go_on() {
    judge();
    if (has_failed()) {
      status_.phase = input_.plan.rolls_back && !status_.stable_revision.empty() ? Phase::rolled_back : Phase::stopped;
      if (status_.phase == Phase::rolled_back) status_.silent_on_trial.clear();
      return false;
    }
    status_.phase = Phase::progressing;
    const std::vector<std::size_t>& nodes = members_[wave()];
    const bool waits = std::any_of(nodes.begin(), nodes.end(), [&](std::size_t each) { return is_waited_for(each); });
    const Millis soak = nodes.empty() ? 0 : present_wave().soak_seconds * Millis{1000};
    if (!waits && !status_.soaking_since) status_.soaking_since = input_.now;
    if (waits || input_.now < *status_.soaking_since + soak) return false;
    if (wave() + 1 == input_.plan.waves.size()) {
      complete(status_);
      return false;
    }
    enter_wave(status_, input_.plan, wave() + 1, input_.now);
    return true;
  }

  // Whether the node may get another revision now, by its windows.
  bool is_open(const RolloutNode& node, std::optional<Millis>& wake_at) const {
    static const TimeZone kUtc;
    const TimeZone& zone = node.zone == nullptr ? kUtc : *node.zone;
    if (is_any_open(input_.plan.windows, zone, input_.now)) return true;
    wake_no_later_than(wake_at, next_opening(input_.plan.windows, zone, input_.now));
    return false;
  }

  // The present wave and those before it are open, unless the rollout stands still.
  RolloutDecision open_waves() {
    RolloutDecision decision;
    decision.revision = input_.revision;
    const bool stands = status_.phase != Phase::progressing;
    WaveCounts counts;
    for (std::size_t i = 0; i <= wave(); ++i) {
      for (const std::size_t each : members_[i]) {
        const RolloutNode& node = input_.nodes[each];
        const NodeProgress& progress = progress_[each];
        if (!stands) wake_no_later_than(decision.wake_at, progress.next);
        bool may_fetch = false;
        if (!stands && !node.updated && !node.silent_since) may_fetch = is_open(node, decision.wake_at);
        if (node.updated || may_fetch) decision.open.insert(node.name);
        if (progress.state == NodeProgress::State::passed_over || progress.state == NodeProgress::State::failed) {
          decision.no_unavailable.insert(node.name);
        }
        if (i < wave()) continue;
        ++counts.nodes;
        ++counts.by_state[progress.state];
        const bool waits = !stands && !node.updated && !node.silent_since && !may_fetch;
        if (waits && progress.state == NodeProgress::State::outdated) ++counts.outside_window;
      }
    }
    if (!stands && status_.soaking_since) {
      const Millis ends = *status_.soaking_since + present_wave().soak_seconds * Millis{1000};
      if (ends > input_.now) wake_no_later_than(decision.wake_at, ends);
    }
    finish(decision, counts);
    return decision;
  }

  // There is one revision for all, which nodes get as they answer: after all waves in their windows, after a failure
  // at once.
  RolloutDecision follow() {
    RolloutDecision decision;
    decision.revision = status_.stable_revision;
    const bool is_complete = status_.phase == Phase::complete;
    for (const RolloutNode& node : input_.nodes) {
      if (node.silent_since) decision.no_unavailable.insert(node.name);
      const bool fetches = is_complete && !node.updated && node.has_pod;
      if (node.silent_since || input_.paused || (fetches && !is_open(node, decision.wake_at))) continue;
      decision.open.insert(node.name);
    }
    finish(decision, {});
    return decision;
  }

  void finish(RolloutDecision& decision, const WaveCounts& counts) {
    status_.message = rollout_message(status_, input_.plan, counts);
    if (!input_.note.empty()) status_.message += "; " + input_.note;
    decision.status = std::move(status_);
  }

  const RolloutInput& input_;
  RolloutStatus status_;
  std::set<std::string> had_failed_;
  WaveMembers members_;
  std::vector<NodeProgress> progress_;  // of nodes in waves that were reached
};

}  // namespace

RolloutDecision decide_rollout(const RolloutInput& input) { return Look(input, continued(input)).decide(); }

}  // namespace berth
