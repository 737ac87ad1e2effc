// berth_model: explores all states of the handshake breadth first, and prints the shortest trace to a violation.
// Exit status: 0 no violation, 1 a violation, 2 bad arguments or too many states.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/model/model.h"

namespace berth::model {

namespace {

struct MutantCase {
  std::string_view name;
  Options options;  // the smallest configuration that reveals it
};
constexpr MutantCase kMutants[] = {
    {"bind-before-commit", {.epochs = 2, .split = true, .mutant = Mutant::bind_before_commit}},
    {"prebind-before-commit", {.epochs = 2, .split = true, .mutant = Mutant::pre_bind_before_commit}},
    {"place-elsewhere-from-bind", {.epochs = 2, .mutant = Mutant::place_elsewhere_from_bind}},
    {"hello-without-echo", {.epochs = 2, .wipes = 1, .mutant = Mutant::hello_without_echo}},
    {"hi-forgotten-at-reboot", {.epochs = 2, .mutant = Mutant::hi_forgotten_at_reboot}},
    {"released-before-stopped", {.epochs = 2, .mutant = Mutant::released_before_stopped}},
    {"survivors-kept", {.epochs = 2, .wipes = 1, .mutant = Mutant::survivors_kept}},
    {"drop-release-entry-by-time", {.epochs = 2, .mutant = Mutant::drop_release_entry_by_time}},
    {"leave-without-entry", {.epochs = 2, .mutant = Mutant::leave_without_entry}},
    {"floor-not-durable", {.epochs = 2, .list = true, .mutant = Mutant::floor_not_durable}},
    {"rejected-without-hi", {.epochs = 2, .mutant = Mutant::rejected_without_hi}},
    {"any-incarnation", {.epochs = 2, .wipes = 1, .mutant = Mutant::any_incarnation}},
    {"adopt-mode-not-durable", {.epochs = 2, .losses = 1, .mutant = Mutant::adopt_mode_not_durable}},
    {"superseded-for-stale", {.epochs = 2, .losses = 1, .mutant = Mutant::superseded_for_stale}},
    {"any-gateway", {.epochs = 2, .losses = 1, .mutant = Mutant::any_gateway}},
    {"first-listing-is-enough", {.epochs = 2, .losses = 1, .mutant = Mutant::first_listing_is_enough}},
    {"old-listing-believed", {.epochs = 2, .losses = 1, .mutant = Mutant::old_listing_believed}},
    {"admission-blind", {.pods = 2, .epochs = 2, .mutant = Mutant::admission_blind}},
    {"older-store-unnoticed", {.epochs = 2, .rollbacks = 1, .mutant = Mutant::older_store_unnoticed}},
    {"older-store-keeps-promises", {.epochs = 2, .rollbacks = 1, .mutant = Mutant::older_store_keeps_promises}},
    {"older-node-store-unnoticed",
     {.epochs = 2, .node_rollbacks = 1, .list = true, .mutant = Mutant::older_node_store_unnoticed}},
    {"older-node-store-unswept",
     {.epochs = 2, .node_rollbacks = 1, .list = true, .mutant = Mutant::older_node_store_unswept}},
    {"older-store-places-at-once", {.epochs = 2, .rollbacks = 1, .mutant = Mutant::older_store_places_at_once}},
};

constexpr std::uint32_t kNone = 0xffffffffu;

std::uint64_t hash(const State& state) {
  std::uint64_t words[(sizeof(State) + 7) / 8] = {};
  std::memcpy(words, &state, sizeof(State));
  std::uint64_t value = 0;
  for (const std::uint64_t word : words) {
    value = (value ^ word) * 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
  }
  return value;
}

// The states found so far, in order of discovery, each with its predecessor.
class Found {
 public:
  Found() : table_(1u << 16, kNone) {}

  std::size_t size() const { return states_.size(); }
  const State& at(std::size_t index) const { return states_[index]; }
  std::uint32_t parent(std::size_t index) const { return parents_[index]; }
  bool add(const State& state, std::uint32_t parent) {
    if ((states_.size() + 1) * 2 > table_.size()) grow();
    std::uint32_t& slot = table_[probe(state)];
    if (slot != kNone) return false;
    slot = static_cast<std::uint32_t>(states_.size());
    states_.push_back(state);
    parents_.push_back(parent);
    return true;
  }
  std::uint32_t find(const State& state) const { return table_[probe(state)]; }

 private:
  std::size_t probe(const State& state) const {
    std::size_t at = hash(state) & (table_.size() - 1);
    while (table_[at] != kNone && !(states_[table_[at]] == state)) at = (at + 1) & (table_.size() - 1);
    return at;
  }
  void grow() {
    table_.assign(table_.size() * 2, kNone);
    for (std::size_t index = 0; index < states_.size(); ++index) {
      table_[probe(states_[index])] = static_cast<std::uint32_t>(index);
    }
  }

  std::vector<std::uint32_t> table_;
  std::vector<State> states_;
  std::vector<std::uint32_t> parents_;
};

class Explorer {
 public:
  Explorer(const Options& options, std::size_t states_max)
      : machine_(std::make_unique<Machine>(options)), states_max_(states_max) {}

  int run() {
    found_.add(machine_->first(), kNone);
    for (std::size_t index = 0; index < found_.size(); ++index) {
      if (!expand(static_cast<std::uint32_t>(index))) return 1;
      if (found_.size() > states_max_) {
        std::printf("more than %zu states\n", states_max_);
        return 2;
      }
    }
    std::printf("%zu states, no violation\n", found_.size());
    return all_can_become_good() ? 0 : 1;
  }

 private:
  bool expand(std::uint32_t index) {
    const State state = found_.at(index);
    bool ok = true;
    machine_->for_each_step(state, [&](const Step& step, const State& next, const char* broken) {
      if (!ok) return;
      const bool is_new = found_.add(next, index);
      if (broken == nullptr && is_new) broken = machine_->check(next);
      if (broken == nullptr) return;
      ok = false;
      report(broken, index);
      std::printf("  %s\n", describe(step).c_str());
    });
    return ok;
  }

  void report(const char* what, std::uint32_t index) const {
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = index; at != kNone; at = found_.parent(at)) path.push_back(at);
    std::reverse(path.begin(), path.end());
    std::printf("%zu states; violation after %zu steps: %s\n", found_.size(), path.size(), what);
    for (std::size_t at = 0; at + 1 < path.size(); ++at) {
      bool printed = false;
      machine_->for_each_step(found_.at(path[at]), [&](const Step& step, const State& next, const char*) {
        if (printed || !(next == found_.at(path[at + 1]))) return;
        printed = true;
        std::printf("  %s\n", describe(step).c_str());
      });
    }
  }

  // From every state, fault-free steps must lead to a good one. Paths that meet are followed once.
  bool all_can_become_good() const {
    std::vector<std::uint8_t> good(found_.size(), 0);
    std::vector<std::uint32_t> path;
    for (std::uint32_t start = 0; start < found_.size(); ++start) {
      path.clear();
      State state = found_.at(start);
      std::uint32_t index = start;
      while (index == kNone || good[index] == 0) {
        if (machine_->is_good(state)) break;
        if (index != kNone) path.push_back(index);
        if (path.size() > 200 || !machine_->advance(state)) {
          report("no good state is reachable without further faults", start);
          return false;
        }
        index = found_.find(state);
      }
      for (const std::uint32_t passed : path) good[passed] = 1;
      good[start] = 1;
    }
    std::printf("a good state is reachable from every state\n");
    return true;
  }

  std::unique_ptr<Machine> machine_;
  Found found_;
  std::size_t states_max_;
};

int run_all_mutants(std::size_t states_max) {
  int missed = 0;
  for (const auto& [name, options] : kMutants) {
    std::printf("-- %.*s\n", static_cast<int>(name.size()), name.data());
    if (Explorer(options, states_max).run() == 1) continue;
    std::printf("   NOT CAUGHT\n");
    ++missed;
  }
  std::printf("%d of %zu mutants not caught\n", missed, std::size(kMutants));
  return missed == 0 ? 0 : 1;
}

int usage() {
  std::printf(
      "usage: berth_model [--pods 1|2] [--epochs 1..3] [--wipes 0..2] [--losses 0|1] [--rollbacks 0|1]\n"
      "                   [--node-rollbacks 0|1] [--faults N] [--list 0|1] [--split 0|1] [--max-states N] [--mutant "
      "NAME|all]\n");
  for (const auto& [name, options] : kMutants) std::printf("  %.*s\n", static_cast<int>(name.size()), name.data());
  return 2;
}

bool read_option(std::string_view key, int number, Options& options) {
  const auto within = [&](int least, int most, int& value) {
    if (number < least || number > most) return false;
    value = number;
    return true;
  };
  if (key == "--pods") return within(1, kPods, options.pods);
  if (key == "--epochs") return within(1, kMaxEpochs, options.epochs);
  if (key == "--wipes") return within(0, 2, options.wipes);
  if (key == "--losses") return within(0, 1, options.losses);
  if (key == "--rollbacks") return within(0, 1, options.rollbacks);
  if (key == "--node-rollbacks") return within(0, 1, options.node_rollbacks);
  if (key == "--faults") return within(0, 100, options.faults);
  if (key == "--list") options.list = number != 0;
  if (key == "--split") options.split = number != 0;
  return key == "--list" || key == "--split";
}

int run(int argc, char** argv) {
  Options options;
  std::size_t states_max = 20'000'000;
  bool all = false;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string_view key = argv[at];
    const std::string_view value = argv[at + 1];
    if (key == "--max-states") {
      states_max = std::strtoull(argv[at + 1], nullptr, 10);
    } else if (key == "--mutant" && value == "all") {
      all = true;
    } else if (key == "--mutant") {
      const auto* found = std::find_if(std::begin(kMutants), std::end(kMutants),
                                       [&](const auto& known) { return known.name == value; });
      if (found == std::end(kMutants)) return usage();
      options = found->options;
    } else if (!read_option(key, static_cast<int>(std::strtol(argv[at + 1], nullptr, 10)), options)) {
      return usage();
    }
  }
  if (argc % 2 == 0) return usage();
  return all ? run_all_mutants(states_max) : Explorer(options, states_max).run();
}

}  // namespace

}  // namespace berth::model

int main(int argc, char** argv) { return berth::model::run(argc, argv); }
