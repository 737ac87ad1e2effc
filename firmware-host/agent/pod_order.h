// What a spare process (children.h) is told: of which pod it is to be the keeper. Both ends are one program.
#pragma once

#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/handshake/messages.h"
#include "core/status.h"

namespace berth {

struct PodOrder {
  Tag tag;
  std::string manifest;
  std::vector<BoundVolume> volumes;  // without what is still to be made: it has been, or the pod does not start

  std::string text() const;
  static Result<PodOrder> read(const std::string& text);
};

}  // namespace berth
