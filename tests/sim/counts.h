// What a run, or a set of runs, has been through.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/clock.h"

namespace berth::sim {

struct Counts {
  std::uint64_t events = 0;
  std::uint64_t binds = 0;  // rows that became bound
  std::uint64_t starts = 0;
  std::uint64_t places = 0;                      // pods in the queue whose attempts a restart brought back
  std::map<std::string, std::uint64_t> crashes;  // by who and why
  std::map<std::string, std::uint64_t> faults;   // by kind
  Millis virtual_ms = 0;

  void add(const Counts& other) {
    events += other.events;
    binds += other.binds;
    starts += other.starts;
    places += other.places;
    virtual_ms += other.virtual_ms;
    for (const auto& [kind, count] : other.crashes) crashes[kind] += count;
    for (const auto& [kind, count] : other.faults) faults[kind] += count;
  }
};

}  // namespace berth::sim
