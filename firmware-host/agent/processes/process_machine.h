// ProcessMachine: what this machine has to run pods as its own processes in a sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/api/quantity.h"
#include "core/status.h"
#include "firmware-host/agent/containers/sandbox_plan.h"

namespace berth {

struct ProcessMachine {
  std::string bwrap;  // path
  MachineMemory memory;
  std::int64_t pids_limit = 0;  // processes of a container; 0: no limit
  ResourceList allocatable;     // of the node
};

// `bwrap`: a name or path, "auto" or "none". Tries it once, and waits for that. An error says what is missing, and how
// to have it. `search_path`: as of PATH.
Result<ProcessMachine> find_process_machine(const std::string& bwrap, const std::string& search_path);

// What such pods can ask for (core/api/features.h), sorted; process_features() are among them.
const std::vector<std::string>& sandboxed_process_features();

}  // namespace berth
