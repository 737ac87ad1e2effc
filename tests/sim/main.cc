// berth_sim: runs fleets from seeds and says whether any invariant was violated.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/sim/world.h"

namespace {

using berth::sim::Counts;
using berth::sim::Plan;
using berth::sim::Sabotage;
using berth::sim::World;

const World* running = nullptr;
std::uint64_t running_seed = 0;

// A CHECK of the product, or anything else that ends a process: which seed it was, and what led to it.
void report_abort(int) {
  std::printf("seed %" PRIu64 ": the product aborted; its last events:\n", running_seed);
  if (running != nullptr) running->trace().print_last();
  std::printf("repeat with: berth_sim --seed %" PRIu64 " --trace\n", running_seed);
  std::fflush(stdout);
  std::_Exit(2);
}

void report(const World& world, const Plan& plan) {
  const auto& violation = *world.violation();
  std::printf("seed %" PRIu64 ": %s violated after %.3f s: %s\n  %s\n", plan.seed, violation.invariant.c_str(),
              static_cast<double>(violation.at) / 1000, violation.text.c_str(), violation.what.c_str());
  std::printf("last events:\n");
  world.trace().print_last();
  std::printf("repeat with: berth_sim --seed %" PRIu64 " --trace\n\n", plan.seed);
}

struct Options {
  std::string seeds = "1..20";
  std::uint64_t seed = 0;
  bool trace = false;
  std::uint64_t events = 0;
  double hours = 0;
  double storm_s = 90;
  std::string sabotage;
  bool teeth = false;
  bool keep_going = false;
};

struct Totals {
  Counts counts;
  std::uint64_t hash = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
};

void run_one(const Plan& plan, Totals& totals, bool quiet) {
  World world(plan);
  running = &world;
  running_seed = plan.seed;
  const bool well = world.run();
  running = nullptr;
  totals.counts.add(world.counts());
  totals.hash = berth::Random(totals.hash ^ world.trace().hash()).next();
  ++(well ? totals.passed : totals.failed);
  if (!well && !quiet) report(world, plan);
}

void print(const Totals& totals) {
  std::printf("%" PRIu64 " events, %" PRIu64 " binds, %" PRIu64 " workloads started, %" PRIu64
              " places in the queue restored, %.2f virtual hours\n",
              totals.counts.events, totals.counts.binds, totals.counts.starts, totals.counts.places,
              static_cast<double>(totals.counts.virtual_ms) / 3'600'000);
  for (const auto& [name, counts] : {std::pair{"crashes", &totals.counts.crashes}, {"faults", &totals.counts.faults}}) {
    std::printf("%s:", name);
    for (const auto& [kind, count] : *counts) std::printf(" %s %" PRIu64 ",", kind.c_str(), count);
    std::printf("\n");
  }
  std::printf("trace hash %016" PRIx64 "\n", totals.hash);
  std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
}

// Each invariant must be seen to fail when what it watches is broken.
int bite(const Options& options) {
  constexpr std::uint64_t kTries = 40;
  std::uint64_t passed = 0, failed = 0;
  for (const auto& [sabotage, name] : berth::sim::sabotages()) {
    Totals totals;
    Plan plan;
    plan.sabotage = sabotage;
    plan.storm_ms = static_cast<berth::Millis>(options.storm_s * 1000);
    for (plan.seed = 1; plan.seed <= kTries && totals.failed == 0; ++plan.seed) run_one(plan, totals, true);
    std::printf("%-5s %s\n", std::string(name).c_str(),
                totals.failed > 0 ? ("fires at seed " + std::to_string(plan.seed - 1)).c_str() : "DOES NOT FIRE");
    ++(totals.failed > 0 ? passed : failed);
  }
  std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

int simulate(const Options& options, std::uint64_t first, std::uint64_t last) {
  Plan plan;
  plan.storm_ms = static_cast<berth::Millis>(options.storm_s * 1000);
  plan.print = options.trace;
  plan.sabotage = berth::sim::find_sabotage(options.sabotage).value_or(Sabotage::none);
  Totals totals;
  for (plan.seed = first; plan.seed <= last; ++plan.seed) {
    run_one(plan, totals, false);
    if (totals.failed > 0 && !options.keep_going && first != last) {
      std::printf("stopped at the first violation; --keep-going runs the other seeds as well\n");
      break;
    }
    if (options.events > 0 && totals.counts.events >= options.events) break;
    if (options.hours > 0 && static_cast<double>(totals.counts.virtual_ms) >= options.hours * 3'600'000) break;
  }
  print(totals);
  return totals.failed == 0 ? 0 : 1;
}

bool read_range(const std::string& text, std::uint64_t& first, std::uint64_t& last) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  char* end = nullptr;
  first = std::strtoull(text.c_str(), &end, 10);
  if (end != text.c_str() + dots) return false;
  last = std::strtoull(text.c_str() + dots + 2, &end, 10);
  return *end == '\0' && dots + 2 < text.size() && first <= last;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs simulated fleets from seeds: a gateway, devices, operators, faults; asserts S1-S12 and L1-L5."};
  app.add_option("--seeds", options.seeds, "range of seeds, A..B")->capture_default_str();
  CLI::Option* one = app.add_option("--seed", options.seed, "one seed");
  app.add_flag("--trace", options.trace, "print every event");
  app.add_option("--events", options.events, "stop when this many events have happened");
  app.add_option("--hours", options.hours, "stop when this many virtual hours have passed");
  app.add_option("--storm", options.storm_s, "virtual seconds with faults, of each seed")->capture_default_str();
  app.add_option("--break", options.sabotage, "corrupt what this invariant watches: S1..S12, FINAL, L1..L5");
  app.add_flag("--teeth", options.teeth, "check that each invariant fires when it is broken");
  app.add_flag("--keep-going", options.keep_going, "go on after a violation");
  CLI11_PARSE(app, argc, argv);
  std::uint64_t first = options.seed, last = options.seed;
  if (one->count() == 0 && !read_range(options.seeds, first, last)) {
    std::fprintf(stderr, "--seeds: \"%s\" is not a range; write it as 1..20\n", options.seeds.c_str());
    return 2;
  }
  if (!options.sabotage.empty() && !berth::sim::find_sabotage(options.sabotage)) {
    std::fprintf(stderr, "--break: no invariant \"%s\"; S1..S12, FINAL, L1..L5 are known\n", options.sabotage.c_str());
    return 2;
  }
  std::signal(SIGABRT, report_abort);
  if (options.teeth) return bite(options);
  return simulate(options, first, last);
}
