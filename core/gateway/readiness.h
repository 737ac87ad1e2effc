// Readiness: why the gateway places no pods yet.
#pragma once

#include <string>

#include "core/placement/context.h"

namespace berth {

// Each empty when that is in order.
struct Readiness {
  std::string store, broker, synced;
  // The first of them; empty: ready.
  std::string reason() const;
};

Readiness readiness_of(const PlacementContext& context);

}  // namespace berth
