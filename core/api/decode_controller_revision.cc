#include "core/api/controller_revision.h"
#include "core/api/decode_parts.h"
#include "core/api/replica_set.h"

namespace berth {

Result<ControllerRevision> decode_controller_revision(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  ControllerRevision revision;
  decode::read_workload_head(reader, ControllerRevision::kApiVersion, revision);
  reader.read_int64("revision", revision.revision, 0);
  if (const Json* data = reader.take("data")) revision.data = SharedPart<Json>(Shared<Json>(*data));
  reader.finish();
  return decode::conclude_workload(std::move(revision), findings, warnings);
}

}  // namespace berth
