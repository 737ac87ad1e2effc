// WorkloadAdmission: manifests of the kinds that controllers look after, as operators apply them.
#pragma once

#include <string>

#include "core/placement/object_admission.h"
#include "core/workloads/workload_writer.h"

namespace berth {

class WorkloadAdmission {
 public:
  // It outlives the admission.
  explicit WorkloadAdmission(const PlacementContext& context) : context_(context), writer_(context) {}

  // As ObjectAdmission has them.
  Result<Accepted> accept(Kind kind, const Json& object, const std::string& expected_key);
  Result<Accepted> check(Kind kind, const Json& object);
  // The object must exist.
  Status remove(Kind kind, const std::string& key, Propagation propagation);

 private:
  Status check_schedule(Kind kind, const Json& manifest) const;
  Result<Accepted> admit(Kind kind, Json& manifest, const std::string& expected_key) const;

  const PlacementContext& context_;
  WorkloadWriter writer_;
};

}  // namespace berth
