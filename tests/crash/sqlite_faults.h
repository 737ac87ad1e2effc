// What SQLite stands on, with faults: files of a simulated disk, memory that runs out, and settings it can be denied.
#pragma once

#include <cstdint>

#include "tests/crash/disk.h"

namespace berth::crash {

// Takes SQLite over for the rest of the process. Call once, before any use of it.
void install_faults();

// The disk that files are opened on from now on; also behind storage/paths.h. Outlives what is open on it.
void mount(Disk& disk);
Disk& mounted();

struct MemoryFault {
  std::uint64_t at = 0;  // allocation of SQLite, counted from 1; 0: none
  bool for_good = false;
};
void arm_memory(const MemoryFault& fault);
bool memory_fault_fired();

// A store that asks for synchronous=FULL gets NORMAL, to see that the checks notice.
void weaken_synchronous(bool weak);

}  // namespace berth::crash
