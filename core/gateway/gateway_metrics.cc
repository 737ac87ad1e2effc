// What the gateway counts: attempts as they end, gauges when somebody looks.
#include <algorithm>

#include "core/gateway/gateway.h"

namespace berth {

namespace {
constexpr int kAttemptsTold = 15;  // as a label; from there on "15+" (schedule_one.go getAttemptsLabel)
constexpr Phase kPhases[] = {Phase::prebind, Phase::bind, Phase::bound, Phase::release};
}  // namespace

void Gateway::count_attempt(const QueuedPod& queued, std::string_view result) {
  if (queued.began_us < 0) return;  // of an earlier run
  const std::string& profile = queued.pod->scheduler_name;
  metrics_.schedule_attempts.at({profile, result}).add();
  metrics_.attempt_duration.at({profile, result}).observe(seconds_between(queued.began_us, clock_.now_us()));
  if (result != "scheduled") return;
  metrics_.attempts.at().observe(queued.attempts);
  const std::string label =
      std::to_string(std::min(queued.attempts, kAttemptsTold)) + (queued.attempts >= kAttemptsTold ? "+" : "");
  if (queued.initial_attempt < 0) return;
  metrics_.sli_duration.at({label}).observe(static_cast<double>(clock_.now() - queued.initial_attempt) / 1000);
}

void Gateway::measure_queue() {
  const Queue::Counts counts = queue_.counts();
  auto set = [this](std::string_view queue, std::size_t count) {
    metrics_.pending_pods.at({queue}).set(static_cast<std::int64_t>(count));
  };
  set("active", counts.active);
  set("backoff", counts.backoff);
  set("unschedulable", counts.unschedulable);
  set("gated", counts.gated);
  metrics_.inflight_events.clear();
  for (const auto& [event, count] : queue_.in_flight_events()) {
    metrics_.inflight_events.at({event}).set(static_cast<std::int64_t>(count));
  }
  metrics_.unschedulable_pods.clear();
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> rejected;  // by plugin and profile
  for (std::string_view uid : queue_.uids()) {
    const QueuedPod* queued = queue_.find(uid);
    if (queued == nullptr) continue;
    for (const std::string& plugin : queued->unschedulable_plugins) ++rejected[{plugin, queued->pod->scheduler_name}];
  }
  for (const auto& [by, count] : rejected) metrics_.unschedulable_pods.at({by.first, by.second}).set(count);
}

void Gateway::measure() {
  measure_queue();
  std::int64_t ready = 0;
  std::int64_t silent = 0;
  std::int64_t expected = 0;
  for (const auto& [name, device] : nodes_.all()) {
    (device.facts.is_null() ? expected : device.reachable ? ready : silent) += 1;
  }
  metrics_.nodes.at({"ready"}).set(ready);
  metrics_.nodes.at({"not_ready"}).set(silent);
  metrics_.nodes.at({"expected"}).set(expected);
  const auto assumed = static_cast<std::int64_t>(cache_.assumed_count());
  metrics_.cache_size.at({"nodes"}).set(static_cast<std::int64_t>(cache_.node_count()));
  metrics_.cache_size.at({"pods"}).set(static_cast<std::int64_t>(cache_.pod_count()));
  metrics_.cache_size.at({"assumed_pods"}).set(assumed);
  std::map<Phase, std::int64_t> rows;
  for (const auto& [uid, binding] : bindings_) ++rows[binding.row.phase];
  for (const Phase phase : kPhases) metrics_.rows.at({to_string(phase)}).set(rows[phase]);
  metrics_.releases.at().set(static_cast<std::int64_t>(releases_.size()));
  for (const KindName& kind : kinds()) {
    const std::size_t count = kind.kind == Kind::pod ? objects_.pods().size() : objects_.keys(kind.kind).size();
    metrics_.objects.at({kind.name}).set(static_cast<std::int64_t>(count));
  }
  metrics_.ready.at().set(not_ready().empty() ? 1 : 0);
  metrics_.accepting.at().set(capacity().is_success() ? 1 : 0);
  metrics_.messages.at({"out"}).set(turn_.sent());
}

}  // namespace berth
