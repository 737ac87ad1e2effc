// One run of one kind with one fault, and whether what came after it is what was promised.
#pragma once

#include <string>

#include "tests/crash/kinds.h"
#include "tests/crash/sqlite_faults.h"

namespace berth::crash {

struct Trial {
  Fault disk;
  MemoryFault memory;
  // Wrong on purpose, to see that it is found out.
  bool weak = false;  // synchronous=NORMAL
  bool lies = false;  // the disk says that it synced and did not
};

struct Outcome {
  bool fired = false;     // false: the kind is over before the fault's turn came
  std::string violation;  // empty: all is well
};

// A kind's disk as act() meets it, made once.
struct Stage {
  Disk disk;
  MemoryStore held;
};

Stage prepare(const Kind& kind);
Outcome run(const Kind& kind, const Stage& stage, const Trial& trial);

}  // namespace berth::crash
