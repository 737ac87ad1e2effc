// A whole agent that makes and removes volumes below its pool (N11) while power is cut, or calls of its store and its
// pool fail. At its next start every directory has a record, and every record that says so its directory; what nobody
// needs is removed or told; and nothing else on the machine was touched.
#pragma once

#include <string>

#include "tests/crash/pool_disk.h"
#include "tests/crash/trial.h"

namespace berth::crash {

inline constexpr char kPoolVolumes[] = "pool volumes";

struct PoolStage {
  Disk disk;  // of an agent whose volume "old" was used, and is no pod's any more
};

PoolStage prepare_pool(PoolDisk& pool);
Outcome run_pool(PoolDisk& pool, const PoolStage& stage, const Trial& trial);

}  // namespace berth::crash
