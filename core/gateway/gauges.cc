// What the gateway counts when somebody looks.
#include <map>

#include "core/gateway/gateway.h"

namespace berth {

namespace {

constexpr Phase kPhases[] = {Phase::prebind, Phase::bind, Phase::bound, Phase::release};

void measure_queue(const Queue& queue, Metrics& metrics) {
  const Queue::Counts counts = queue.counts();
  const auto set = [&metrics](std::string_view where, std::size_t count) {
    metrics.pending_pods.at({where}).set(static_cast<std::int64_t>(count));
  };
  set("active", counts.active);
  set("backoff", counts.backoff);
  set("unschedulable", counts.unschedulable);
  set("gated", counts.gated);
  metrics.inflight_events.clear();
  for (const auto& [event, count] : queue.in_flight_events()) {
    metrics.inflight_events.at({event}).set(static_cast<std::int64_t>(count));
  }
  metrics.unschedulable_pods.clear();
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> rejected;  // by plugin and profile
  for (std::string_view uid : queue.uids()) {
    const QueuedPod* queued = queue.find(uid);
    if (queued == nullptr) continue;
    for (const std::string& plugin : queued->unschedulable_plugins)
      ++rejected[{plugin, queued->pod->spec->scheduler_name}];
  }
  for (const auto& [by, count] : rejected) metrics.unschedulable_pods.at({by.first, by.second}).set(count);
}

}  // namespace

void Gateway::measure() {
  Metrics& metrics = metrics_;
  const Cache& cache = scheduler().cache();
  measure_queue(scheduler().queue(), metrics);
  std::int64_t ready = 0;
  std::int64_t silent = 0;
  std::int64_t expected = 0;
  for (const auto& [name, device] : nodes_.all()) {
    (device.facts.is_null() ? expected : device.reachable ? ready : silent) += 1;
  }
  metrics.nodes.at({"ready"}).set(ready);
  metrics.nodes.at({"not_ready"}).set(silent);
  metrics.nodes.at({"expected"}).set(expected);
  const auto assumed = static_cast<std::int64_t>(cache.assumed_count());
  metrics.cache_size.at({"nodes"}).set(static_cast<std::int64_t>(cache.node_count()));
  metrics.cache_size.at({"pods"}).set(static_cast<std::int64_t>(cache.pod_count()));
  metrics.cache_size.at({"assumed_pods"}).set(assumed);
  std::map<Phase, std::int64_t> rows;
  for (const auto& [uid, binding] : bindings()) ++rows[binding.row.phase];
  for (const Phase phase : kPhases) metrics.rows.at({to_string(phase)}).set(rows[phase]);
  metrics.releases.at().set(static_cast<std::int64_t>(releases().size()));
  for (const KindName& kind : kinds()) {
    const std::size_t count = kind.kind == Kind::pod ? objects_.pods().all().size() : objects_.keys(kind.kind).size();
    metrics.objects.at({kind.name}).set(static_cast<std::int64_t>(count));
  }
  metrics.ready.at().set(not_ready().empty() ? 1 : 0);
  metrics.accepting.at().set(admission_.capacity().is_success() ? 1 : 0);
  metrics.messages.at({"out"}).set(turn_.sent());
}

}  // namespace berth
