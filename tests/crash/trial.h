// One run of a kind with one fault, and the check of what it left.
#pragma once

#include <string>

#include "tests/crash/kinds.h"
#include "tests/crash/pool_disk.h"
#include "tests/crash/sqlite_faults.h"

namespace berth::crash {

struct Trial {
  Fault disk;
  MemoryFault memory;
  // Deliberate defects, to verify that they are detected.
  bool weak = false;  // synchronous=NORMAL
  bool lies = false;  // the disk reports syncs that it did not do
  PoolDefects pool = {};
};

struct Outcome {
  bool fired = false;     // false: the kind finished before the fault was due
  std::string violation;  // empty: all is well
};

// The disk of a kind before act(), prepared once.
struct Stage {
  Disk disk;
  MemoryStore held;
};

Stage prepare(const Kind& kind);
Outcome run(const Kind& kind, const Stage& stage, const Trial& trial);

}  // namespace berth::crash
