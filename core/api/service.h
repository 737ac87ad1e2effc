// Service: a core/v1 Service, decoded.
#pragma once

#include "core/api/metadata.h"
#include "core/json/json.h"

namespace berth {

// core/v1 Service, read for PodTopologySpread's default constraints only.
struct Service {
  ObjectMeta metadata;
  Labels selector;  // empty selects nothing
  Json manifest;
};

}  // namespace berth
