// A whole gateway that starts on a disk that fails: it has everything it knew, or ends (or holds) and says why; a fault
// that passes is never taken for damage, and the next start finds all of it.
#pragma once

#include <string>

#include "tests/crash/trial.h"

namespace berth::crash {

inline constexpr char kGatewayLoad[] = "gateway load";

struct LoadStage {
  Disk disk;
  std::string known;  // all that the gateway knows, as text
};

LoadStage prepare_gateway();
Outcome run_gateway(const LoadStage& stage, const Trial& trial);

}  // namespace berth::crash
