// apps/v1 ControllerRevision: what a StatefulSet's or DaemonSet's pod template was at one time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/api/decode.h"
#include "core/api/workload_meta.h"
#include "core/json/json.h"
#include "core/shared.h"

namespace berth {

struct ControllerRevision : ControlledObject {
  static constexpr std::string_view kKind = "ControllerRevision", kApiVersion = "apps/v1";
  ControllerRevision() : ControlledObject(kKind) {}
  std::int64_t revision = 0;  // the newest has the highest
  SharedPart<Json> data;      // its controller's own; never changed
};
using RevisionPtr = std::shared_ptr<const ControllerRevision>;

// As decode.h describes.
Result<ControllerRevision> decode_controller_revision(const Json& json, Warnings* warnings,
                                                      Rules rules = Rules::enforced);

}  // namespace berth
