#include "core/workloads/pod_view.h"

#include <utility>

#include "core/controllers/read_pod.h"
#include "core/json/members.h"

namespace berth {
namespace {

// The members of a device's report that a ControlledPod is read from.
constexpr std::string_view kReported[] = {"phase", "reason", "initContainerStatuses", "containerStatuses",
                                          "conditions"};

// A device that says nothing of readiness has no probes: what runs there is ready, as a container without one is.
void add_readiness(const Json& observed, Json& status) {
  if (observed.find("conditions") != nullptr || observed.string_at("phase") != "Running") return;
  Json ready = Json::object();
  ready.set("type", "Ready").set("status", "True");
  if (const Json* start = observed.find("startTime")) ready.set("lastTransitionTime", *start);
  status.set("conditions", Json(Json::Array{std::move(ready)}));
}

struct Placed {
  std::string node;         // empty: none that may run it
  bool is_current = false;  // what is observed is of this placement
};

Placed placed_of(const PodEntry& entry, const PlacementState& state, const Json& observed) {
  if (const Binding* binding = state.find(entry.pod->uid())) {
    // Before Bind no device runs it, and the gateway may take it elsewhere.
    const Row& row = binding->row;
    return {row.phase >= Phase::bind ? std::string(row.node) : std::string(),
            observed.string_at("epoch") == to_text(row.epoch)};
  }
  return {entry.finished ? observed.string_at("node") : std::string(), entry.finished};
}

}  // namespace

ControlledPodPtr pod_view(const PodEntry& entry, const PlacementState& state, const ViewTimes& times) {
  Json json = entry.pod->manifest().json();
  const Json observed = entry.observed.json();
  const Placed placed = placed_of(entry, state, observed);
  Json status = Json::object();
  if (placed.is_current) {
    for (const std::string_view key : kReported) {
      if (const Json* said = observed.find(key)) status.set(key, *said);
    }
    add_readiness(observed, status);
  }
  // Its device has proven that it is ended, or none was ever asked to run it.
  const bool is_over = entry.deleting && !entry.finished && state.find(entry.pod->uid()) == nullptr;
  if (is_over) status.set("phase", "Failed");
  json.set("status", std::move(status));
  Result<ControlledPod> read = read_controlled_pod(json);
  // Of metadata that is wrong where scheduling does not look, what was decoded is enough.
  auto pod = std::make_shared<ControlledPod>(read ? std::move(*read) : ControlledPod());
  static_cast<ObjectMeta&>(pod->metadata) = entry.pod->metadata;
  pod->node_name = placed.node;
  // What an operator applied has no creation time.
  if (!pod->metadata.created) pod->metadata.created = times.wall - (times.now - entry.arrived);
  // Clocks of devices may be ahead: nothing becomes ready in the future.
  if (pod->ready_since && *pod->ready_since > times.wall) pod->ready_since = times.wall;
  pod->deletion_asked.reset();
  pod->metadata.deletion.reset();
  if (entry.deleting) {
    pod->deletion_asked = times.asked.value_or(times.wall);
    pod->metadata.deletion = *pod->deletion_asked + entry.pod->spec->termination_grace_period_seconds * 1000;
  }
  return pod;
}

}  // namespace berth
