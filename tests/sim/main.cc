// berth_sim: simulates fleets from seeds and reports violated invariants.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace {

constexpr const char* kRules = "N0..N11, P1..P18, D1..D7";  // that a mutant breaks

using berth::sim::Counts;
using berth::sim::Mutant;
using berth::sim::Plan;
using berth::sim::Sabotage;
using berth::sim::World;

const World* running = nullptr;
Plan running_plan;

// The command that repeats a run with its trace.
std::string repeat(const Plan& plan) {
  std::ostringstream text;
  text << "repeat with: berth_sim --seed " << plan.seed << " --trace";
  const Plan usual;
  if (plan.rush) text << " --rush";
  if (plan.configs) text << " --configs";
  if (plan.workloads) text << " --workloads";
  if (plan.evictions) text << " --evictions";
  if (plan.pulls) text << " --pulls";
  if (plan.devices != usual.devices) text << " --devices " << plan.devices;
  if (plan.storm_ms != usual.storm_ms) text << " --storm " << static_cast<double>(plan.storm_ms) / 1000;
  for (const auto& [sabotage, name] : berth::sim::sabotages()) {
    if (sabotage == plan.sabotage) text << " --break " << name;
  }
  for (const auto& [mutant, rule, what] : berth::sim::mutants()) {
    if (mutant == plan.mutant) text << " --mutant " << rule;
  }
  return text.str();
}

// On a failed CHECK or another abort of the product: prints the seed and the last events.
void report_abort(int) {
  std::printf("seed %" PRIu64 ": the product aborted; last events:\n", running_plan.seed);
  if (running != nullptr) running->trace().print_last();
  std::printf("%s\n", repeat(running_plan).c_str());
  std::fflush(stdout);
  std::_Exit(2);
}

void report(const World& world, const Plan& plan) {
  const auto& violation = *world.violation();
  std::printf("seed %" PRIu64 ": %s violated after %.3f s: %s\n  %s\n", plan.seed, violation.invariant.c_str(),
              static_cast<double>(violation.at) / 1000, violation.text.c_str(), violation.what.c_str());
  std::printf("last events:\n");
  world.trace().print_last();
  std::printf("%s\n\n", repeat(plan).c_str());
}

struct Options {
  std::string seeds = "1..20";
  std::uint64_t seed = 0;
  bool rush = false;
  bool configs = false;
  bool workloads = false;
  bool evictions = false;
  bool pulls = false;
  bool trace = false;
  std::uint64_t events = 0;
  std::uint64_t binds = 0;
  unsigned shards = 0;
  std::size_t devices = 0;
  double hours = 0;
  double storm_s = 90;
  std::string sabotage;
  bool self_test = false;
  bool mutants = false;
  std::string mutant;
  bool keep_going = false;
  std::vector<std::string> known;
  std::string messages;
};

struct Totals {
  Counts counts;
  std::uint64_t hash = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
};

// A bug that is known and not mended yet (core/handshake/limits.md): the seed has to show it, so that whoever mends it,
// or changes what the seed does, takes it from the list.
bool is_as_known(const std::string& invariant, const World& world, const Plan& plan) {
  const bool as_known = world.violation() && world.violation()->invariant == invariant;
  if (as_known) {
    std::printf("seed %" PRIu64 ": %s violated, as is known\n", plan.seed, invariant.c_str());
  } else {
    std::printf("seed %" PRIu64 ": %s is not what is violated any more: --known has to change\n", plan.seed,
                invariant.c_str());
  }
  return as_known;
}

// `known`: the invariant that the seed violates; empty: none.
void run_one(const Plan& plan, Totals& totals, bool quiet, const std::string& known = {}) {
  World world(plan);
  running = &world;
  running_plan = plan;
  const bool passed = world.run();
  running = nullptr;
  totals.counts.add(world.counts());
  totals.hash = berth::Random(totals.hash ^ world.trace().hash()).next();
  const bool ok = known.empty() ? passed : is_as_known(known, world, plan);
  ++(ok ? totals.passed : totals.failed);
  if (!ok && !passed && !quiet) report(world, plan);
}

std::string known_of(const Options& options, std::uint64_t seed) {
  const std::string prefix = std::to_string(seed) + ":";
  for (const std::string& each : options.known) {
    if (each.starts_with(prefix)) return each.substr(prefix.size());
  }
  return {};
}

void print(const Totals& totals) {
  std::printf("%" PRIu64 " events, %" PRIu64 " binds, %" PRIu64 " workloads started, %" PRIu64
              " queue entries restored, %.2f virtual hours\n",
              totals.counts.events, totals.counts.binds, totals.counts.starts, totals.counts.restored,
              static_cast<double>(totals.counts.virtual_ms) / 3'600'000);
  for (const auto& [name, counts] : {std::pair{"crashes", &totals.counts.crashes}, {"faults", &totals.counts.faults}}) {
    std::printf("%s:", name);
    for (const auto& [kind, count] : *counts) std::printf(" %s %" PRIu64 ",", kind.c_str(), count);
    std::printf("\n");
  }
  std::printf("trace hash %016" PRIx64 "\n", totals.hash);
  std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
}

// Verifies that every invariant check fires when its invariant is violated on purpose.
int self_test(const Options& options) {
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

// Verifies that every broken rule is caught by some invariant.
int catch_mutants(const Options& options) {
  constexpr std::uint64_t kTries = 1000;
  std::uint64_t passed = 0, failed = 0;
  std::printf("rule  how it is broken                                     caught at seed, by\n");
  for (const auto& [mutant, rule, text] : berth::sim::mutants()) {
    Plan plan;
    plan.mutant = mutant;
    plan.storm_ms = static_cast<berth::Millis>(options.storm_s * 1000);
    std::string caught;
    for (plan.seed = 1; plan.seed <= kTries && caught.empty(); ++plan.seed) {
      World world(plan);
      running = &world;
      running_plan = plan;
      if (!world.run()) caught = std::to_string(plan.seed) + ", " + world.violation()->invariant;
      running = nullptr;
    }
    std::printf("%-5s %-52s %s\n", std::string(rule).c_str(), std::string(text).c_str(),
                caught.empty() ? "NOT CAUGHT" : caught.c_str());
    std::fflush(stdout);
    ++(caught.empty() ? failed : passed);
  }
  std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

Plan plan_of(const Options& options) {
  Plan plan;
  plan.storm_ms = static_cast<berth::Millis>(options.storm_s * 1000);
  plan.print = options.trace;
  plan.devices = options.devices;
  plan.rush = options.rush;
  plan.configs = options.configs;
  plan.workloads = options.workloads;
  plan.evictions = options.evictions;
  plan.pulls = options.pulls;
  plan.sabotage = berth::sim::find_sabotage(options.sabotage).value_or(Sabotage::none);
  plan.mutant = berth::sim::find_mutant(options.mutant).value_or(Mutant::none);
  return plan;
}

int simulate(const Options& options, std::uint64_t first, std::uint64_t last) {
  Plan plan = plan_of(options);
  Totals totals;
  std::ofstream messages;
  berth::sim::MessageShapes shapes(messages);
  if (!options.messages.empty()) {
    messages.open(options.messages);
    plan.messages = &shapes;
  }
  for (plan.seed = first; plan.seed <= last; ++plan.seed) {
    run_one(plan, totals, false, known_of(options, plan.seed));
    if (totals.failed > 0 && !options.keep_going && first != last) {
      std::printf("stopped at the first violation; --keep-going runs the other seeds as well\n");
      break;
    }
    if (options.events > 0 && totals.counts.events >= options.events) break;
    if (options.hours > 0 && static_cast<double>(totals.counts.virtual_ms) >= options.hours * 3'600'000) break;
  }
  print(totals);
  messages.flush();
  if (!options.messages.empty() && !messages) {
    std::fprintf(stderr, "--messages: \"%s\" cannot be written\n", options.messages.c_str());
    return 2;
  }
  return totals.failed == 0 ? 0 : 1;
}

// A shard's totals as passed between processes: numbers, then named counts.
std::string to_text(const Totals& totals) {
  std::ostringstream text;
  const Counts& counts = totals.counts;
  text << totals.passed << ' ' << totals.failed << ' ' << totals.hash << ' ' << counts.events << ' ' << counts.binds
       << ' ' << counts.starts << ' ' << counts.restored << ' ' << counts.virtual_ms << '\n';
  for (const auto& [kind, count] : counts.crashes) text << "c" << count << ' ' << kind << '\n';
  for (const auto& [kind, count] : counts.faults) text << "f" << count << ' ' << kind << '\n';
  return text.str();
}

bool add_text(const std::string& from, Totals& totals) {
  std::istringstream text(from);
  Totals part;
  Counts& counts = part.counts;
  text >> part.passed >> part.failed >> part.hash >> counts.events >> counts.binds >> counts.starts >>
      counts.restored >> counts.virtual_ms;
  if (!text) return false;
  text.ignore();
  for (std::string line; std::getline(text, line);) {
    const std::size_t space = line.find(' ');
    auto& kinds = line[0] == 'c' ? counts.crashes : counts.faults;
    kinds[line.substr(space + 1)] += std::strtoull(line.c_str() + 1, nullptr, 10);
  }
  totals.counts.add(counts);
  totals.passed += part.passed;
  totals.failed += part.failed;
  totals.hash = berth::Random(totals.hash ^ part.hash).next();
  return true;
}

// Runs every shards-th seed from `seed` on until the shard has done its share of the binds; nine seeds in ten are a
// rush. Violations are printed immediately.
Totals run_shard(const Options& options, std::uint64_t seed) {
  Plan plan = plan_of(options);
  Totals totals;
  const std::uint64_t share = (options.binds + options.shards - 1) / options.shards;
  for (plan.seed = seed; totals.counts.binds < share; plan.seed += options.shards) {
    plan.rush = plan.seed % 10 != 0;
    run_one(plan, totals, false);
    if (totals.failed > 0 && !options.keep_going) break;
  }
  return totals;
}

// One process per shard. The same number of shards runs the same seeds.
int simulate_binds(const Options& options, std::uint64_t first) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::pair<pid_t, int>> children;
  for (unsigned shard = 0; shard < options.shards; ++shard) {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      close(ends[0]);
      const std::string text = to_text(run_shard(options, first + shard));
      std::fflush(stdout);
      const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
      _exit(written ? 0 : 2);
    }
    close(ends[1]);
    children.emplace_back(child, ends[0]);
  }
  Totals totals;
  for (const auto& [child, end] : children) {
    std::string text;
    char part[4096];
    for (ssize_t got = 0; (got = read(end, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
    int status = 0;
    waitpid(child, &status, 0);
    if (!add_text(text, totals)) ++totals.failed;  // it aborted and has reported that
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%.0f s, %.0f binds a second on %u processes\n", seconds,
              static_cast<double>(totals.counts.binds) / seconds, options.shards);
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
  CLI::App app{"Runs simulated fleets from seeds: a gateway, devices, operators, faults; asserts S1-S16 and L1-L5."};
  app.add_option("--seeds", options.seeds, "range of seeds, A..B")->capture_default_str();
  CLI::Option* one = app.add_option("--seed", options.seed, "one seed");
  app.add_flag("--trace", options.trace, "print every event");
  app.add_option("--events", options.events, "stop when this many events have happened");
  app.add_option("--binds", options.binds, "run seeds until this many pods were bound, on all processors");
  app.add_option("--shards", options.shards, "processes for --binds; default: the number of processors");
  app.add_option("--devices", options.devices, "number of devices; default: drawn from the seed");
  app.add_flag("--evictions", options.evictions, "devices end pods by themselves");
  app.add_flag("--pulls", options.pulls, "devices fetch images before pods start");
  app.add_flag("--workloads", options.workloads, "somebody applies, rolls out and deletes a Deployment");
  app.add_flag("--configs", options.configs, "pods refer to a ConfigMap and a Secret, which change (N13)");
  app.add_flag("--rush", options.rush,
               "many short pods and a tenth of the network faults, as in nine of ten seeds of --binds");
  app.add_option("--hours", options.hours, "stop when this many virtual hours have passed");
  app.add_option("--storm", options.storm_s, "virtual seconds of the fault phase of each seed")->capture_default_str();
  app.add_option("--break", options.sabotage, "violate this invariant on purpose");
  app.add_flag("--self-test", options.self_test,
               "verify that each invariant check fires when its invariant is violated");
  app.add_flag("--mutants", options.mutants,
               std::string("verify that breaking each rule ") + kRules + " is caught; prints a table");
  app.add_option("--mutant", options.mutant, std::string("break this rule in every seed: ") + kRules);
  app.add_flag("--keep-going", options.keep_going, "continue after a violation");
  app.add_option("--known", options.known,
                 "SEED:INVARIANT: this seed has to violate this invariant, a bug that is not mended yet");
  app.add_option("--messages", options.messages,
                 "write one message of each shape that the programs send to this file, a JSON object a line")
      ->excludes("--binds");
  CLI11_PARSE(app, argc, argv);
  std::uint64_t first = options.seed, last = options.seed;
  if (one->count() == 0 && !read_range(options.seeds, first, last)) {
    std::fprintf(stderr, "--seeds: \"%s\" is not a range; expected a form like 1..20\n", options.seeds.c_str());
    return 2;
  }
  if (!options.sabotage.empty() && !berth::sim::find_sabotage(options.sabotage)) {
    std::fprintf(stderr,
                 "--break: unknown invariant \"%s\"; known: S1..S12, HELD, PORTS, DEVICES, VOLUMES, FINAL, L1..L5, M, "
                 "ORDER, ROLLOUT\n",
                 options.sabotage.c_str());
    return 2;
  }
  std::signal(SIGABRT, report_abort);
  if (!options.mutant.empty() && !berth::sim::find_mutant(options.mutant)) {
    std::fprintf(stderr, "--mutant: unknown rule \"%s\"; known: %s\n", options.mutant.c_str(), kRules);
    return 2;
  }
  if (options.self_test) return self_test(options);
  if (options.mutants) return catch_mutants(options);
  if (options.binds > 0) {
    if (options.shards == 0) options.shards = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    return simulate_binds(options, first);
  }
  return simulate(options, first, last);
}
