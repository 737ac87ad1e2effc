#include "firmware-host/ctl/rollout_progress.h"

#include <cstdint>

#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/text.h"

namespace berth {
namespace {

using State = RolloutProgress::State;

// 0 when absent.
std::int64_t count_field(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* value = field(object, path);
  return value != nullptr && value->is_integer() ? value->as_int() : 0;
}

bool is_past_deadline(const Json& deployment) {
  for (const Json& condition : list_field(deployment, {"status", "conditions"})) {
    const bool is_exceeded = text_field(condition, {"reason"}) == "ProgressDeadlineExceeded";
    if (is_exceeded && text_field(condition, {"type"}) == "Progressing") return true;
  }
  return false;
}

std::string part_text(std::int64_t part, std::int64_t whole, const char* what) {
  return std::to_string(part) + " of " + std::to_string(whole) + " " + what;
}

RolloutProgress deployment_progress(const Json& deployment) {
  if (is_past_deadline(deployment)) return {State::failed, "no progress within progressDeadlineSeconds"};
  const Json* replicas = field(deployment, {"spec", "replicas"});
  const std::int64_t wanted = replicas == nullptr ? 1 : count_field(deployment, {"spec", "replicas"});
  const std::int64_t updated = count_field(deployment, {"status", "updatedReplicas"});
  const std::int64_t all = count_field(deployment, {"status", "replicas"});
  const std::int64_t available = count_field(deployment, {"status", "availableReplicas"});
  if (updated < wanted) return {State::underway, part_text(updated, wanted, "pods are updated")};
  if (all > updated) return {State::underway, std::to_string(all - updated) + " old pods have not ended"};
  if (available < updated) return {State::underway, part_text(available, updated, "updated pods are available")};
  return {State::done, "rolled out"};
}

RolloutProgress daemon_set_progress(const Json& set) {
  if (text_field(set, {"spec", "updateStrategy", "type"}) == "OnDelete") {
    return {State::failed, "pods are updated only when they are deleted (updateStrategy OnDelete)"};
  }
  const std::int64_t wanted = count_field(set, {"status", "desiredNumberScheduled"});
  const std::int64_t updated = count_field(set, {"status", "updatedNumberScheduled"});
  const std::int64_t available = count_field(set, {"status", "numberAvailable"});
  if (updated < wanted) return {State::underway, part_text(updated, wanted, "pods are updated")};
  if (available < wanted) return {State::underway, part_text(available, wanted, "updated pods are available")};
  return {State::done, "rolled out"};
}

RolloutProgress planned_progress(const Json& rollout) {
  const std::string phase = text_field(rollout, {"phase"});
  State state = State::underway;
  if (phase == "Complete") state = State::done;
  if (phase == "RolledBack" || phase == "Stopped") state = State::failed;
  return {state, phase + ": " + printable(text_field(rollout, {"message"}))};
}

}  // namespace

RolloutProgress rollout_progress(const Json& object) {
  const std::int64_t observed = count_field(object, {"status", "observedGeneration"});
  if (count_field(object, {"metadata", "generation"}) > observed) {
    return {State::underway, "the gateway has not looked at the change yet"};
  }
  if (const Json* rollout = field(object, {"status", "rollout"})) return planned_progress(*rollout);
  return text_field(object, {"kind"}) == "DaemonSet" ? daemon_set_progress(object) : deployment_progress(object);
}

}  // namespace berth
