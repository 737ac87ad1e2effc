// berth_crash: injects a fault at every call of a commit (power cut, I/O error, full disk, failed allocation), one run
// per call.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <string>

#include "tests/crash/gateway_load.h"
#include "tests/crash/pool_agent.h"
#include "tests/crash/trial.h"

namespace {

using namespace berth::crash;

struct FaultClass {
  const char* name;
  Fault::Kind kind;  // none: a memory fault
  Fate fate;
  std::uint64_t seeds;
  bool for_good;  // for memory faults
};

constexpr FaultClass kClasses[] = {
    {"cut-kept", Fault::Kind::cut, Fate::kept, 1, false},
    {"cut-dropped", Fault::Kind::cut, Fate::dropped, 1, false},
    {"cut-torn", Fault::Kind::cut, Fate::torn, 1, false},
    {"cut-mixed", Fault::Kind::cut, Fate::mixed, 4, false},
    {"error-once", Fault::Kind::error_once, Fate::kept, 1, false},
    {"error-for-good", Fault::Kind::error_always, Fate::kept, 1, false},
    {"full-once", Fault::Kind::full_once, Fate::kept, 1, false},
    {"full-for-good", Fault::Kind::full_always, Fate::kept, 1, false},
    {"memory-once", Fault::Kind::none, Fate::kept, 1, false},
    {"memory-for-good", Fault::Kind::none, Fate::kept, 1, true},
};

struct Options {
  std::string kind;
  std::string fault;
  std::uint64_t at = 0;
  unsigned share = 0;  // of so many shares, which take fault classes in turn
  unsigned shares = 1;
  bool quiet = false;
  bool weak = false;
  bool lies = false;
  PoolDefects pool = {};
};

struct Totals {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
};

Trial trial_of(const FaultClass& faults, const Options& options, std::uint64_t at, std::uint64_t seed) {
  Trial trial{{}, {}, options.weak, options.lies, options.pool};
  if (faults.kind == Fault::Kind::none) {
    trial.memory = {at, faults.for_good};
  } else {
    trial.disk = {faults.kind, at, faults.fate, at * 1'000 + seed};
  }
  return trial;
}

using RunOne = std::function<Outcome(const Trial&)>;

// Runs all points of one kind with one fault class; returns their number.
std::uint64_t run_class(std::string_view kind, const RunOne& run_one, const FaultClass& faults, const Options& options,
                        Totals& totals) {
  std::uint64_t shown = 0;
  for (std::uint64_t at = options.at > 0 ? options.at : 1;; ++at) {
    bool fired = false;
    for (std::uint64_t seed = 0; seed < faults.seeds; ++seed) {
      const Outcome outcome = run_one(trial_of(faults, options, at, seed));
      fired = outcome.fired;
      if (!fired && outcome.violation.empty()) break;
      ++(outcome.violation.empty() ? totals.passed : totals.failed);
      if (outcome.violation.empty() || options.quiet || ++shown > 3) continue;
      std::printf("  --kind '%s' --fault %s --at %" PRIu64 ": %s\n", std::string(kind).c_str(), faults.name, at,
                  outcome.violation.c_str());
    }
    if (!fired) return at - 1;
    if (options.at > 0) return at;
  }
}

void run_classes(std::string_view kind, const RunOne& run_one, const Options& options, Totals& totals) {
  static unsigned turn = 0;
  std::string counts;
  for (const FaultClass& faults : kClasses) {
    if (!options.fault.empty() && options.fault != faults.name) continue;
    if (turn++ % options.shares != options.share) continue;
    const std::uint64_t points = run_class(kind, run_one, faults, options, totals);
    counts += std::string("  ") + faults.name + " " + std::to_string(points);
  }
  if (!options.quiet) std::printf("%-20s%s\n", std::string(kind).c_str(), counts.c_str());
}

Totals run_kinds(const Options& options) {
  Totals totals;
  const auto is_asked = [&options](std::string_view kind) { return options.kind.empty() || options.kind == kind; };
  for (const Kind& kind : kinds()) {
    if (!is_asked(kind.name)) continue;
    const Stage stage = prepare(kind);
    run_classes(kind.name, [&](const Trial& trial) { return run(kind, stage, trial); }, options, totals);
  }
  if (is_asked(kGatewayLoad)) {
    const LoadStage stage = prepare_gateway();
    run_classes(kGatewayLoad, [&](const Trial& trial) { return run_gateway(stage, trial); }, options, totals);
  }
  if (is_asked(kPoolVolumes)) {
    PoolDisk pool;
    const PoolStage stage = prepare_pool(pool);
    run_classes(kPoolVolumes, [&](const Trial& trial) { return run_pool(pool, stage, trial); }, options, totals);
  }
  return totals;
}

// Verifies that a store and a disk with known defects are detected.
Totals run_self_test(Options options) {
  Totals caught;
  options.quiet = true;
  const auto count = [&caught](const char* name, const Totals& totals) {
    std::printf("%-40s caught at %" PRIu64 " of %" PRIu64 " points\n", name, totals.failed,
                totals.passed + totals.failed);
    ++(totals.failed > 0 ? caught.passed : caught.failed);
  };
  options.fault = "cut-dropped";
  options.weak = true;
  count("synchronous=NORMAL", run_kinds(options));
  options.weak = false;
  options.lies = true;
  count("a disk that lies about syncs", run_kinds(options));
  options.lies = false;
  options.kind = kPoolVolumes;
  options.pool = {.lies = true};
  count("a pool whose directories are not synced", run_kinds(options));
  options.pool = {.follows_links = true};
  count("a removal that follows links", run_kinds(options));
  options.pool = {.keeps_limits = true};
  count("a limit that stays when its volume goes", run_kinds(options));
  return caught;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bool self_test = false;
  CLI::App app("Injects a fault at every call of the store's commits and checks the recovery.");
  app.add_option("--kind", options.kind, "only this kind of commit");
  app.add_option("--fault", options.fault, "only this fault class");
  app.add_option("--at", options.at, "only this point");
  app.add_option("--shares", options.shares, "fault classes are dealt out to so many runs")->check(CLI::PositiveNumber);
  app.add_option("--share", options.share, "the run's number among them, from 0");
  app.add_flag("--self-test", self_test, "verify that a store and a disk with known defects are detected");
  CLI11_PARSE(app, argc, argv);
  install_faults();
  const Totals totals = self_test ? run_self_test(options) : run_kinds(options);
  std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", totals.passed, totals.failed);
  return totals.failed > 0 || totals.passed == 0 ? 1 : 0;
}
