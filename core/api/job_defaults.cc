// What a new Job has without saying so (job.h).
#include <limits>

#include "core/api/job.h"
#include "core/json/members.h"

namespace berth {
namespace {

constexpr std::string_view kControllerUid = "batch.kubernetes.io/controller-uid";

Json& object_in(Json& parent, std::string_view key) {
  if (parent.find(key) == nullptr || !parent.find(key)->is_object()) parent.set(key, Json::object());
  return *parent.find(key);
}

void set_if_absent(Json& object, std::string_view key, Json value) {
  if (member(object, key).is_null()) object.set(key, std::move(value));
}

// Both with and without the prefix, as old clients look for the latter.
void generate_selector(Json& spec, const std::string& name, const std::string& uid) {
  Json& labels = object_in(object_in(object_in(spec, "template"), "metadata"), "labels");
  labels.set("job-name", name).set("controller-uid", uid);
  labels.set("batch.kubernetes.io/job-name", name).set(kControllerUid, uid);
  object_in(object_in(spec, "selector"), "matchLabels").set(kControllerUid, uid);
}

}  // namespace

void set_job_defaults(Json& job) {
  Json& spec = object_in(job, "spec");
  if (member(spec, "completions").is_null() && member(spec, "parallelism").is_null()) spec.set("completions", 1);
  set_if_absent(spec, "parallelism", 1);
  const bool per_index = !member(spec, "backoffLimitPerIndex").is_null();
  set_if_absent(spec, "backoffLimit", per_index ? std::numeric_limits<std::int32_t>::max() : 6);
  set_if_absent(spec, "completionMode", "NonIndexed");
  set_if_absent(spec, "suspend", false);
  const bool has_policy = !member(spec, "podFailurePolicy").is_null();
  set_if_absent(spec, "podReplacementPolicy", has_policy ? "Failed" : "TerminatingOrFailed");
  set_if_absent(spec, "manualSelector", false);
  if (member(spec, "manualSelector") == Json(true) || !member(spec, "selector").is_null()) return;
  const Json& metadata = member(job, "metadata");
  generate_selector(spec, metadata.string_at("name"), metadata.string_at("uid"));
}

}  // namespace berth
