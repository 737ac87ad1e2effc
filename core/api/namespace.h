// Namespace: a core/v1 Namespace, decoded.
#pragma once

#include "core/api/metadata.h"
#include "core/json/json.h"

namespace berth {

struct Namespace {
  ObjectMeta metadata;
  Json manifest;
};

}  // namespace berth
