// Statistics of a run, or of several runs.
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
  std::uint64_t restored = 0;                    // queue entries whose attempts were restored at a restart
  std::map<std::string, std::uint64_t> crashes;  // by program and cause
  std::map<std::string, std::uint64_t> faults;   // by kind
  Millis virtual_ms = 0;

  void add(const Counts& other) {
    events += other.events;
    binds += other.binds;
    starts += other.starts;
    restored += other.restored;
    virtual_ms += other.virtual_ms;
    for (const auto& [kind, count] : other.crashes) crashes[kind] += count;
    for (const auto& [kind, count] : other.faults) faults[kind] += count;
  }
};

}  // namespace berth::sim
