// The cost of workload controllers in the gateway: Deployments, DaemonSets and CronJobs, beside pods that an operator
// applies. Gateway and SQLite are real, on this machine's disk; the devices are in this process and not measured.
#include <malloc.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/bench/workload_site.h"

namespace berth::bench {
namespace {

constexpr std::size_t kReplicas = 10'000;
constexpr int kNodes = 1'000;

std::string pod_template(const std::string& image) {
  return R"("metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"registry.lan/sensor:)" + image +
         R"(","name":"c","resources":{"requests":{"cpu":"1m","memory":"1Mi"}}}]})";
}

// With a uid as random as any: a store that compresses must not gain by it.
std::string bare_pod(const std::string& name, Random& random) {
  const std::string uid = random.hex_id();
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"sensor"},"name":")" + name +
         R"(","namespace":"default","uid":")" + uid +
         R"("},"spec":{"containers":[{"image":"registry.lan/sensor:1.4","name":"c","resources":{"requests":)" +
         R"({"cpu":"1m","memory":"1Mi"}}}]}})";
}

std::string deployment(std::size_t replicas, const std::string& image) {
  return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},)"
         R"("spec":{"replicas":)" +
         std::to_string(replicas) +
         R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}},)"
         R"("selector":{"matchLabels":{"app":"web"}},"template":{)" +
         pod_template(image) + "}}}";
}

std::string daemon_set() {
  return R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"web","namespace":"default"},)"
         R"("spec":{"selector":{"matchLabels":{"app":"web"}},"template":{)" +
         pod_template("1.4") + "}}}";
}

// One start a year, on a day of its own.
std::string cron_job(const std::string& name, int number) {
  return R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"schedule":")" + std::to_string(number % 60) + " 3 " +
         std::to_string(1 + number % 28) +
         R"( 1 *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[)"
         R"({"name":"c","image":"app:1"}]}}}}}})";
}

// Of the heap, in use.
double heap_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd);
}

struct PodCost {
  double seconds, bytes, memory;
};

// Prints and returns the cost of a phase, by pod; `beside`: of a pod that an operator applied.
PodCost tell(const char* what, const PhaseCost& cost, std::size_t pods, double memory, const PodCost* beside) {
  const double count = static_cast<double>(pods);
  const PodCost each{cost.cpu_s / count, static_cast<double>(cost.disk.bytes) / count, memory / count};
  std::printf("%s: %.0f pods per second of CPU, longest turn %.1f ms, %.0f bytes written and %.0f of memory a pod",
              what, 1 / each.seconds, cost.longest_turn_ms, each.bytes, each.memory);
  if (beside != nullptr) {
    std::printf("; times a bare pod's: CPU %.2f, bytes %.2f", each.seconds / beside->seconds,
                each.bytes / beside->bytes);
  }
  std::printf("\n");
  std::fflush(stdout);
  return each;
}

PodCost measure_bare(const std::string& folder, int nodes, std::size_t pods) {
  WorkloadSite site(folder + "/bare.db", nodes);
  const double before = heap_bytes();
  site.start_phase();
  Random random(1);
  for (std::size_t i = 0; i < pods; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    site.apply(Kind::pod, name, bare_pod(name, random));
  }
  site.run_until([&] { return site.running() == pods; }, "not every bare pod runs");
  site.finish();
  return tell("bare pods", site.cost(), pods, heap_bytes() - before, nullptr);
}

void measure_deployment(const std::string& folder) {
  const PodCost bare = measure_bare(folder, kNodes, kReplicas);
  WorkloadSite site(folder + "/deployment.db", kNodes);
  const double before = heap_bytes();
  const auto count = [&](std::string_view field) {
    return static_cast<std::size_t>(site.count_of(Kind::deployment, "web", field));
  };
  const auto phase = [&](const char* what, std::size_t replicas, const std::string& image) {
    site.start_phase();
    site.apply(Kind::deployment, "web", deployment(replicas, image));
    site.run_until(
        [&] {
          return site.running() == replicas && site.pods() == replicas && count("readyReplicas") == replicas &&
                 count("updatedReplicas") == replicas;
        },
        what);
    site.finish();
    tell(what, site.cost(), kReplicas, heap_bytes() - before, &bare);
  };
  std::printf("Deployment of %zu pods on %d nodes\n", kReplicas, kNodes);
  phase("  created", kReplicas, "1.4");
  phase("  rolled", kReplicas, "1.5");
  phase("  scaled to 0", 0, "1.5");
  std::printf("  goals: 50 ms; 1.2 times the bytes when created\n");
}

void measure_daemon_set(const std::string& folder) {
  constexpr int kMany = 5'000;
  const PodCost bare = measure_bare(folder, kMany, kMany);
  WorkloadSite site(folder + "/daemons.db", kMany);
  const double before = heap_bytes();
  site.start_phase();
  site.apply(Kind::daemon_set, "web", daemon_set());
  site.run_until([&] { return site.count_of(Kind::daemon_set, "web", "numberReady") == kMany; },
                 "not every daemon is ready");
  site.finish();
  std::printf("DaemonSet on %d nodes\n", kMany);
  tell("  created", site.cost(), kMany, heap_bytes() - before, &bare);
}

PhaseCost idle_minute(WorkloadSite& site) {
  site.pass(60'000);
  site.start_phase();
  site.pass(60'000);
  return site.cost();
}

void measure_cron_jobs(const std::string& folder) {
  constexpr int kCronJobs = 2'000;
  WorkloadSite site(folder + "/cron.db", kNodes);
  const PhaseCost without = idle_minute(site);
  const double before = heap_bytes();
  for (int i = 0; i < kCronJobs; ++i) {
    const std::string name = "cron-" + std::to_string(i);
    site.apply(Kind::cron_job, name, cron_job(name, i));
  }
  site.run_until([&] { return site.is_quiet(); }, "CronJobs are not taken");
  const double memory = heap_bytes() - before;
  const PhaseCost with = idle_minute(site);
  std::printf("idle minute without and with %d CronJobs: %" PRIu64 " and %" PRIu64
              " turns, %.1f and %.1f ms of CPU, %" PRIu64 " and %" PRIu64 " bytes; %.0f bytes of memory a CronJob\n",
              kCronJobs, without.turns, with.turns, without.cpu_s * 1000, with.cpu_s * 1000, without.disk.bytes,
              with.disk.bytes, memory / kCronJobs);
}

}  // namespace
}  // namespace berth::bench

// bench_controllers [FOLDER [PART...]]: parts are deployment, daemon-set and cron-jobs; default: all.
int main(int argc, char** argv) {
  constexpr std::pair<const char*, void (*)(const std::string&)> kParts[] = {
      {"deployment", berth::bench::measure_deployment},
      {"daemon-set", berth::bench::measure_daemon_set},
      {"cron-jobs", berth::bench::measure_cron_jobs}};
  const std::vector<std::string> parts(argv + std::min(argc, 2), argv + argc);
  for (const auto& [name, measure] : kParts) {
    if (!parts.empty() && std::find(parts.begin(), parts.end(), name) == parts.end()) continue;
    // Not under /tmp, which may be in memory.
    std::string folder = std::string(argc > 1 ? argv[1] : ".") + "/controllers-bench-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) berth::bench::cannot_measure("cannot create a folder here");
    measure(folder);
    std::filesystem::remove_all(folder);
  }
  std::printf("1 passed, 0 failed\n");
  return 0;
}
