// Explores all states breadth first, and prints the shortest trace to a violation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/model/options.h"

namespace berth::model {

inline constexpr std::uint32_t kNone = 0xffffffffu;

template <class State>
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
template <class State>
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

// `Machine`: what is explored, as Machine of model.h.
template <class Machine>
class Explorer {
 public:
  using State = typename Machine::State;
  using Step = typename Machine::Step;

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
  Found<State> found_;
  std::size_t states_max_;
};

}  // namespace berth::model
