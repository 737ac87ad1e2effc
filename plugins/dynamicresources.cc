#include "plugins/dynamicresources.h"

#include "core/api/pod.h"
#include "core/json/field_reader.h"

namespace berth {

namespace {

// As upstream with an empty cache of claims; the status of a pod never names a claim that was generated from a
// template.
std::string why_missing(const Pod& pod, const PodResourceClaim& claim) {
  if (claim.claim_name.empty()) return "pod \"" + pod.metadata.key() + "\": ResourceClaim not created yet";
  return "could not find resource claim \"" + pod.metadata.namespace_ + "/" + claim.claim_name + "\"";
}

}  // namespace

Result<std::unique_ptr<Plugin>> DynamicResources::make(const Json& args, Handle&) {
  Findings findings(Findings::Unknown::refuse);
  if (!args.is_null()) {
    FieldReader reader(args, "args", findings);
    reader.carry({"filterTimeout", "bindingTimeout"});
    reader.finish();
  }
  if (findings.has_errors()) return findings.status();
  return std::unique_ptr<Plugin>(std::make_unique<DynamicResources>());
}

Status DynamicResources::pre_enqueue(const Pod& pod) {
  if (pod.spec->resource_claims.empty()) return {};
  return Status::unresolvable(why_missing(pod, pod.spec->resource_claims.front()));
}

}  // namespace berth
