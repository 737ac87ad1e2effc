// berth_model: explores every state of the handshake, breadth first, and says how the first bad one is reached.
// Exit status: 0 all states hold, 1 a violation, 2 bad arguments or out of the bound on states.
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
  Options options;  // the smallest world in which it shows
};
constexpr MutantCase kMutants[] = {
    {"bind-before-commit", {2, 0, false, false, Mutant::bind_before_commit}},
    {"prebind-before-commit", {2, 0, false, false, Mutant::pre_bind_before_commit}},
    {"place-elsewhere-from-bind", {2, 0, false, false, Mutant::place_elsewhere_from_bind}},
    {"hello-without-echo", {3, 2, false, true, Mutant::hello_without_echo}},
    {"hi-forgotten-at-reboot", {2, 0, false, false, Mutant::hi_forgotten_at_reboot}},
    {"released-before-stopped", {2, 0, false, false, Mutant::released_before_stopped}},
    {"survivors-kept", {2, 1, false, false, Mutant::survivors_kept}},
    {"drop-release-entry-by-time", {2, 0, false, false, Mutant::drop_release_entry_by_time}},
    {"leave-without-entry", {2, 0, false, false, Mutant::leave_without_entry}},
    {"floor-not-durable", {2, 0, true, false, Mutant::floor_not_durable}},
    {"rejected-without-hi", {2, 0, false, false, Mutant::rejected_without_hi}},
    {"any-incarnation", {2, 1, false, false, Mutant::any_incarnation}},
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

// The states found so far, in the order found, each with the one it was found from.
class Found {
 public:
  Found() : table_(1u << 16, kNone) {}

  std::size_t size() const { return states_.size(); }
  const State& at(std::size_t index) const { return states_[index]; }
  std::uint32_t parent(std::size_t index) const { return parents_[index]; }
  bool add(const State& state, std::uint32_t parent) {
    if ((states_.size() + 1) * 2 > table_.size()) grow();
    std::uint32_t& place = table_[probe(state)];
    if (place != kNone) return false;
    place = static_cast<std::uint32_t>(states_.size());
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
    found_.add(State{}, kNone);
    for (std::size_t index = 0; index < found_.size(); ++index) {
      if (!expand(static_cast<std::uint32_t>(index))) return 1;
      if (found_.size() > states_max_) {
        std::printf("more than %zu states\n", states_max_);
        return 2;
      }
    }
    std::printf("%zu states, every one holds\n", found_.size());
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
      bool said = false;
      machine_->for_each_step(found_.at(path[at]), [&](const Step& step, const State& next, const char*) {
        if (said || !(next == found_.at(path[at + 1]))) return;
        said = true;
        std::printf("  %s\n", describe(step).c_str());
      });
    }
  }

  // From each state, fault-free steps alone must lead to a good one. Roads that meet are walked once.
  bool all_can_become_good() const {
    std::vector<std::uint8_t> good(found_.size(), 0);
    std::vector<std::uint32_t> road;
    for (std::uint32_t start = 0; start < found_.size(); ++start) {
      road.clear();
      State state = found_.at(start);
      std::uint32_t index = start;
      while (index == kNone || good[index] == 0) {
        if (Machine::is_good(state)) break;
        if (index != kNone) road.push_back(index);
        if (road.size() > 200 || !machine_->advance(state)) {
          report("from here no good state is reached without faults", start);
          return false;
        }
        index = found_.find(state);
      }
      for (const std::uint32_t passed : road) good[passed] = 1;
      good[start] = 1;
    }
    std::printf("every state can still reach a good one\n");
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
  std::printf("usage: berth_model [--epochs 1..3] [--wipes 0..2] [--list 0|1] [--max-states N] [--mutant NAME|all]\n");
  for (const auto& [name, options] : kMutants) std::printf("  %.*s\n", static_cast<int>(name.size()), name.data());
  return 2;
}

}  // namespace

std::string describe(const Step& step) {
  constexpr const char* kRequests[] = {"PreBind", "Bind", "Release"};
  constexpr const char* kAnswers[] = {"PreBound", "Bound",    "Released", "Rejected",
                                      "Stale",    "Finished", "Hello(1)", "Hello(2)"};
  const auto n = [](int value) { return std::to_string(value); };
  const std::string device = "node " + n(step.a) + ": ";
  const std::string epoch = " epoch " + n(step.b);
  switch (step.kind) {
    case Step::begin:
      return "gateway: begin epoch " + n(step.a) + " on node " + n(step.b) + ", incarnation " + n(step.c);
    case Step::leave: return "gateway: leave prebind";
    case Step::remove: return "gateway: evict";
    case Step::erase_pod: return "gateway: delete the pod";
    case Step::commit: return "gateway: commit";
    case Step::crash: return "gateway: crash";
    case Step::send: return std::string("gateway: send ") + kRequests[step.a] + epoch;
    case Step::deliver:
      return std::string("network: deliver ") + kRequests[step.a] + epoch + ", floor " + n(step.c) +
             (step.d != 0 ? "" : ", no room");
    case Step::receive:
      return std::string("network: gateway reads ") + kAnswers[step.a] + epoch + (step.c != 0 ? ", too late" : "");
    case Step::send_list: return "gateway: send List to node " + n(step.a);
    case Step::deliver_list: return "network: deliver List to node " + n(step.a) + ", floor " + n(step.b);
    case Step::forget_entry: return "gateway: drop the release entry of epoch " + n(step.a);
    case Step::prepared: return device + "prepared" + epoch;
    case Step::prepare_failed: return device + "cannot prepare" + epoch;
    case Step::promise_end: return device + "promise ends," + epoch;
    case Step::launch: return device + "start" + epoch;
    case Step::finish: return device + "workload finished," + epoch;
    case Step::stopped: return device + "stopped" + epoch;
    case Step::reboot: return device + "reboot";
    case Step::wipe: return device + "store lost, processes survive";
    case Step::sweep: return device + "N0 over";
  }
  return "?";
}

int run(int argc, char** argv) {
  Options options;
  std::size_t states_max = 60'000'000;
  bool all = false;
  for (int at = 1; at + 1 < argc; at += 2) {
    const std::string_view key = argv[at];
    const std::string_view value = argv[at + 1];
    const int number = std::atoi(argv[at + 1]);
    if (key == "--epochs" && number >= 1 && number <= kMaxEpochs) {
      options.epochs = number;
    } else if (key == "--wipes" && number >= 0 && number <= 2) {
      options.wipes = number;
    } else if (key == "--list") {
      options.list = number != 0;
    } else if (key == "--max-states" && number > 0) {
      states_max = static_cast<std::size_t>(number);
    } else if (key == "--mutant" && value == "all") {
      all = true;
    } else if (key == "--mutant") {
      const auto* found = std::find_if(std::begin(kMutants), std::end(kMutants),
                                       [&](const auto& known) { return known.name == value; });
      if (found == std::end(kMutants)) return usage();
      options = found->options;
    } else {
      return usage();
    }
  }
  if (argc % 2 == 0) return usage();
  return all ? run_all_mutants(states_max) : Explorer(options, states_max).run();
}

}  // namespace berth::model

int main(int argc, char** argv) { return berth::model::run(argc, argv); }
