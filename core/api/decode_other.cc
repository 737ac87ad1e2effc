#include "core/api/decode_parts.h"
#include "core/api/namespace.h"
#include "core/api/policy.h"

namespace berth {

Result<PriorityClass> decode_priority_class(const Json& json, Warnings* warnings, Rules rules) {
  constexpr std::int32_t kUserMax = 1'000'000'000;  // scheduling validation, HighestUserDefinablePriority
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  PriorityClass priority_class;
  decode::read_head(reader, Kind::priority_class, priority_class.metadata);
  if (reader.require("value", "an integer")) reader.read_int32("value", priority_class.value);
  if (priority_class.value > kUserMax && !priority_class.metadata.name.starts_with("system-")) {
    reader.rule("value", "must be at most 1000000000, got " + std::to_string(priority_class.value) +
                             "; higher values are reserved for system- classes");
  }
  reader.read_bool("globalDefault", priority_class.global_default);
  reader.read_enum("preemptionPolicy", {"PreemptLowerPriority", "Never", ""}, priority_class.preemption_policy);
  reader.finish();
  return decode::conclude(Kind::priority_class, std::move(priority_class), json, findings, warnings);
}

Result<Namespace> decode_namespace(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  Namespace space;
  decode::read_head(reader, Kind::namespace_, space.metadata);
  reader.finish();
  return decode::conclude(Kind::namespace_, std::move(space), json, findings, warnings);
}

}  // namespace berth
