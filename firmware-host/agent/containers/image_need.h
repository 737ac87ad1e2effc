// ImageNeed: an image that a pod's manifest names, and when it is to be pulled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/images/image_reference.h"

namespace berth {

enum class PullPolicy : std::uint8_t { always, if_not_present, never };

struct ImageNeed {
  std::string name;  // as in the manifest
  ImageReference reference;
  PullPolicy policy = PullPolicy::if_not_present;
};

// Of all containers of a pod, each name once, in their order. The error names the field and the fix.
Result<std::vector<ImageNeed>> image_needs_of(const Json& pod);

}  // namespace berth
