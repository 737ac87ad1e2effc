// ClaimWriter: the PersistentVolumeClaims that StatefulSets make, own and delete, as controllers see and change them.
#pragma once

#include <string>
#include <vector>

#include "core/controllers/cluster_access.h"
#include "core/placement/placement.h"

namespace berth {

class ClaimWriter {
 public:
  static constexpr std::string_view kKind = "PersistentVolumeClaim";

  // Both outlive it.
  ClaimWriter(const PlacementContext& context, Placement& placement) : context_(context), placement_(placement) {}

  // Their metadata; null when there is none.
  ObjectPtr find(const std::string& key) const;
  std::vector<ObjectPtr> list(std::string_view name_space) const;
  WriteResult create(std::string_view name_space, Json claim);
  // Of its metadata.
  WriteResult patch(const std::string& key, const Json& merge);
  WriteResult remove(const std::string& key, const DeleteOptions& options);

 private:
  WriteResult apply(const Json& manifest, std::string name);

  const PlacementContext& context_;
  Placement& placement_;
};

}  // namespace berth
