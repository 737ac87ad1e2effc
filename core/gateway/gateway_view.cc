// What the gateway shows of an object: the manifest with a status of its own, and why a pod is pending.
#include "core/gateway/gateway.h"

namespace berth {

namespace {

std::string_view name_of(Queue::Where where) {
  switch (where) {
    case Queue::Where::none: return "none";
    case Queue::Where::gated: return "gated";
    case Queue::Where::active: return "active";
    case Queue::Where::backoff: return "backoff";
    case Queue::Where::unschedulable: return "unschedulable";
    case Queue::Where::in_flight: return "in flight";
  }
  return "none";
}

Json condition(std::string_view type, bool holds, std::string_view reason, const std::string& message) {
  Json json = Json::object();
  json.set("type", type).set("status", holds ? "True" : "False");
  if (!reason.empty()) json.set("reason", reason);
  if (!message.empty()) json.set("message", message);
  return json;
}

}  // namespace

std::string Gateway::why_pending(const PodEntry& entry) const {
  const std::string key = entry.pod->metadata.key();
  if (const std::string unready = not_ready(); !unready.empty()) return "the gateway is not ready: " + unready;
  if (auto found = bindings_.find(entry.pod->uid()); found != bindings_.end()) {
    const Row& row = found->second.row;
    if (!found->second.journey().provisioning.empty() && row.phase == Phase::none)
      return what_is_provisioned(found->second);
    if (found->second.journey().deferred)
      return "node " + row.node + " is chosen, and is asked when it has answered for others";
    if (row.phase == Phase::none) {
      std::string plugins;
      if (const WaitingPod* waiting = scheduler_.waiting_pods().find(row.uid)) {
        for (const auto& [plugin, wait] : waiting->plugins) plugins += (plugins.empty() ? " of " : ", ") + plugin;
      }
      return "waiting on permit" + plugins + " for node " + row.node;
    }
    if (row.phase == Phase::prebind || row.phase == Phase::bind) {
      return "node " + row.node + " is asked to take the pod (" + std::string(to_string(row.phase)) + ")";
    }
  }
  if (queue_.where(entry.pod->uid()) == Queue::Where::gated) {
    std::string gates;
    for (const std::string& gate : entry.pod->scheduling_gates) gates += (gates.empty() ? "" : ", ") + gate;
    return "waiting for scheduling gates: " + gates;
  }
  auto told = conditions_.find(key);
  return told == conditions_.end() ? std::string("not tried yet") : told->second.message;
}

// As upstream's condition PodScheduled names it; what the gateway itself waits for is no error of the scheduler's.
std::string Gateway::reason_pending(const PodEntry& entry, const std::string& why) const {
  const auto told = conditions_.find(entry.pod->metadata.key());
  return told != conditions_.end() && told->second.message == why ? told->second.reason : "Unschedulable";
}

// Until the pod is bound: where it is about to be, or what preemption promised it.
std::string Gateway::nominated_node(const PodEntry& entry) const {
  if (entry.finished) return {};
  const auto found = bindings_.find(entry.pod->uid());
  if (found == bindings_.end()) return entry.pod->nominated_node_name;
  const Row& row = found->second.row;
  return row.phase == Phase::bound || row.phase == Phase::release ? Text() : row.node;
}

Json Gateway::pod_status(const PodEntry& entry) const {
  Json status = Json::object();
  Json scheduler = Json::object();
  const Json observed = entry.observed.json();
  const Json* observed_phase = observed.find("phase");
  bool scheduled = entry.finished;
  std::string phase = "Pending";
  if (auto found = bindings_.find(entry.pod->uid()); found != bindings_.end()) {
    const Row& row = found->second.row;
    scheduled = scheduled || row.phase == Phase::bound || row.phase == Phase::release;
    const Json* epoch = observed.find("epoch");
    const bool current = epoch != nullptr && *epoch == Json(to_text(row.epoch));
    if (current && observed_phase != nullptr && observed_phase->is_string()) phase = observed_phase->as_string();
    if (current && observed.find("containerStatuses") != nullptr) {
      status.set("containerStatuses", *observed.find("containerStatuses"));
    }
    status.set("nodeName", row.node.get());
    scheduler.set("phase", to_string(row.phase)).set("epoch", to_text(row.epoch));
  } else if (entry.finished) {
    if (observed_phase != nullptr && observed_phase->is_string()) phase = observed_phase->as_string();
    if (const Json* containers = observed.find("containerStatuses")) status.set("containerStatuses", *containers);
    if (const Json* node = observed.find("node")) status.set("nodeName", *node);
  }
  status.set("phase", phase);
  if (entry.deleting) status.set("deleting", true);
  const std::string why = scheduled ? std::string() : why_pending(entry);
  Json::Array conditions{condition("PodScheduled", scheduled, scheduled ? "" : reason_pending(entry, why), why)};
  if (!entry.disruption.empty()) {
    conditions.push_back(condition("DisruptionTarget", true, "PreemptionByScheduler", entry.disruption));
  }
  status.set("conditions", Json(std::move(conditions)));
  if (const std::string node = nominated_node(entry); !node.empty()) status.set("nominatedNodeName", node);
  if (!scheduled) {
    status.set("message", why);
  } else {
    // What the device says of it: why it failed, or which fields of the manifest it cannot honour.
    for (std::string_view key : {"reason", "message"}) {
      if (const Json* said = observed.find(key)) status.set(key, *said);
    }
  }
  const Queue::Where where = queue_.where(entry.pod->uid());
  if (where != Queue::Where::none) scheduler.set("queue", name_of(where));
  if (const QueuedPod* queued = queue_.find(entry.pod->uid())) scheduler.set("attempts", queued->attempts);
  status.set("scheduler", std::move(scheduler));
  status.set("uid", entry.pod->uid().get());
  return status;
}

Json Gateway::node_status(const DeviceNode& device) const {
  Json status = Json::object();
  if (device.node != nullptr) {
    const Json facts = device.facts.json();
    for (std::string_view key : {"allocatable", "images"}) {
      if (const Json* own = facts.find(key)) status.set(key, *own);
    }
  }
  status.set("conditions",
             Json(Json::Array{condition("Ready", device.reachable && device.node != nullptr, "",
                                        device.reachable ? "" : "no sign of life; nothing is placed on it")}));
  status.set("incarnation", device.incarnation);
  return status;
}

// The operator's, or counted now.
Json Gateway::budget_status(const PodDisruptionBudget& budget) const {
  if (budget.has_status) return *budget.manifest.find("status");
  const Disruption counted = objects_.disruption_of(budget);
  Json status = Json::object();
  status.set("disruptionsAllowed", std::int64_t{counted.allowed});
  status.set("currentHealthy", std::int64_t{counted.current_healthy});
  status.set("desiredHealthy", std::int64_t{counted.desired_healthy});
  return status.set("expectedPods", std::int64_t{counted.expected_pods});
}

Json Gateway::status_of(Kind kind, const std::string& key) const {
  if (kind == Kind::pod) {
    const PodEntry* entry = objects_.find_pod(key);
    return entry == nullptr ? Json() : pod_status(*entry);
  }
  if (kind == Kind::node) {
    auto found = nodes_.all().find(key);
    return found == nodes_.all().end() ? Json() : node_status(found->second);
  }
  if (kind == Kind::persistent_volume) {
    const auto volume = objects_.volume(key);
    return volume == nullptr ? Json() : Json(Json::Object{{"phase", Json(volume->phase)}});
  }
  if (kind == Kind::persistent_volume_claim) {
    const auto claim = objects_.claim(key);
    return claim == nullptr ? Json() : Json(Json::Object{{"phase", Json(claim->phase)}});
  }
  return objects_.has(kind, key) ? Json::object() : Json();
}

Json Gateway::view(Kind kind, const std::string& key) const {
  Json object;
  if (kind == Kind::node) {
    auto found = nodes_.all().find(key);
    if (found == nodes_.all().end()) return {};
    object = Json::object();
    object.set("metadata", Json(Json::Object{{"name", Json(key)}}));
    if (found->second.node != nullptr) object = nodes_.manifest(key, objects_.overlay(key));
    object.set("status", node_status(found->second));
  } else {
    object = objects_.manifest(kind, key);
    if (object.is_null()) return {};
    if (kind == Kind::persistent_volume || kind == Kind::persistent_volume_claim) {
      object.set("status", status_of(kind, key));
    }
    if (kind == Kind::pod_disruption_budget)
      object.set("status", budget_status(*objects_.find<PodDisruptionBudget>(key)));
    if (kind == Kind::pod) {
      const Json status = pod_status(*objects_.find_pod(key));
      if (const Json* node = status.find("nodeName")) {
        if (Json* spec = object.find("spec")) spec->set("nodeName", *node);
      }
      object.set("status", status);
    }
  }
  if (object.find("kind") == nullptr) object.set("kind", describe(kind).name);
  return object;
}

}  // namespace berth
