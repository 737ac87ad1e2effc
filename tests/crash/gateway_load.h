// A whole gateway that starts on a failing disk: it must know everything it knew before, or exit (or hold) with a
// reason. A transient fault must not be taken for damage, and the next start must find everything.
#pragma once

#include <string>

#include "tests/crash/trial.h"

namespace berth::crash {

inline constexpr char kGatewayLoad[] = "gateway load";

struct LoadStage {
  Disk disk;
  std::string known;  // everything the gateway knows, as text
};

LoadStage prepare_gateway();
Outcome run_gateway(const LoadStage& stage, const Trial& trial);

}  // namespace berth::crash
