// PodWriter: the pods that controllers make, change and delete: admitted, stored and removed as those that operators
// apply, and not mirrored, as their owners are.
#pragma once

#include <string>

#include "core/controllers/cluster_access.h"
#include "core/placement/placement.h"

namespace berth {

class PodWriter {
 public:
  // Both outlive it.
  PodWriter(const PlacementContext& context, Placement& placement) : context_(context), placement_(placement) {}

  WriteResult create(std::string_view name_space, Json pod);
  // Of its metadata.
  WriteResult patch(const std::string& key, const Json& merge);
  WriteResult remove(const std::string& key, const DeleteOptions& options);

 private:
  const PlacementContext& context_;
  Placement& placement_;
};

// "web-" -> "web-x2b7q" (apiserver storage/names/generate.go).
std::string generated_name(Random& random, std::string prefix);

}  // namespace berth
