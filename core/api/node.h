// Node: a core/v1 Node, decoded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/api/metadata.h"
#include "core/api/quantity.h"
#include "core/api/taint.h"
#include "core/api/volume_pool.h"
#include "core/json/json.h"
#include "core/shared.h"

namespace berth {

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
  bool operator==(const ContainerImage&) const = default;
};

struct Node {
  ObjectMeta metadata;
  Shared<std::vector<Taint>> taints;
  bool unschedulable = false;
  Shared<ResourceList> allocatable;
  Shared<std::vector<ContainerImage>> images;
  Shared<std::map<std::string, std::string>> conditions;  // type -> status
  // status.declaredFeatures, sorted; none: the device does not say what its runtime can do.
  SharedOptional<std::vector<std::string>> declared_features;
  Shared<std::vector<VolumePool>> volume_pools;  // status.volumePools: Berth's own, as its device reports them
  Json manifest;
};

}  // namespace berth
