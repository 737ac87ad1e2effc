#include "plugins/schedulinggates.h"

#include "core/api/pod.h"
#include "plugins/no_arguments.h"

namespace berth {

Result<std::unique_ptr<Plugin>> SchedulingGates::make(const Json& args, Handle&) {
  return make_without_arguments<SchedulingGates>(args);
}

std::vector<EventWithHint> SchedulingGates::events_to_register() const {
  return {{{EventResource::pod, kUpdatePodSchedulingGatesEliminated, "PodSchedulingGatesEliminated"},
           [](const Pod& pod, const EventObjects& objects) {
             return objects.new_pod != nullptr && objects.new_pod->uid() == pod.uid() ? Hint::queue : Hint::skip;
           }}};
}

Status SchedulingGates::pre_enqueue(const Pod& pod) {
  if (pod.spec->scheduling_gates.empty()) return {};
  std::string gates;
  for (const std::string& gate : pod.spec->scheduling_gates) gates += (gates.empty() ? "" : " ") + gate;
  return Status::unresolvable("waiting for scheduling gates: [" + gates + "]");
}

}  // namespace berth
