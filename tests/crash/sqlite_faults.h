// Fault injection below SQLite: files on a simulated disk, failing allocations, and a setting that is ignored.
#pragma once

#include <cstdint>

#include "tests/crash/disk.h"

namespace berth::crash {

// Installs the fault injection in SQLite for the rest of the process. Call once, before any use of SQLite.
void install_faults();

// Sets the disk on which files are opened from now on, also by storage/paths.h. It must outlive them.
void mount(Disk& disk);
Disk& mounted();

struct MemoryFault {
  std::uint64_t at = 0;  // SQLite's n-th allocation, counted from 1; 0: none
  bool for_good = false;
};
void arm_memory(const MemoryFault& fault);
bool memory_fault_fired();

// A store that sets synchronous=FULL gets NORMAL, to verify that the checks detect it.
void weaken_synchronous(bool weak);

}  // namespace berth::crash
