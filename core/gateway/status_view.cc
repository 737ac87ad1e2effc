#include "core/gateway/status_view.h"

#include <algorithm>

#include "core/api/qos_class.h"
#include "core/api/validation.h"
#include "core/objects/node_pressure.h"
#include "core/objects/reserved_labels.h"

namespace berth {

namespace {

constexpr std::size_t kMaxNotes = 20;

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

// The device would not act on a misspelt field, and nobody would notice.
void add_unknown_fields(Kind kind, const Json& manifest, Json::Array& conditions) {
  const std::string unknown = unknown_fields(kind, manifest);
  if (!unknown.empty()) conditions.push_back(condition("UnknownFields", true, "Ignored", unknown));
}

// Most facts hold no reserved label, and are not parsed to learn that.
std::string ignored_labels_in(const std::string& node, const Manifest& facts) {
  const auto may_hold = [&facts](std::string_view part) { return facts.text().find(part) != std::string_view::npos; };
  if (!may_hold("kubernetes.io/") && !may_hold("operator.berth/")) return {};
  const Json json = facts.json();
  const Json* labels = json.find("labels");
  return labels == nullptr ? std::string() : ignored_labels(node, *labels);
}

// What the device observed of the pod's containers, as a Kubernetes podStatus has it.
void show_containers(const Json& observed, Json& status) {
  for (std::string_view key :
       {"startTime", "hostIP", "hostIPs", "podIP", "podIPs", "initContainerStatuses", "containerStatuses"}) {
    if (const Json* member = observed.find(key)) status.set(key, *member);
  }
}

// Those that the device knows (Ready, ContainersReady ...), behind the gateway's own, which it cannot replace. That a
// pod is disrupted the device may say of an eviction only.
void add_device_conditions(const Json& observed, Json::Array& conditions) {
  const Json* list = observed.find("conditions");
  if (list == nullptr || !list->is_array()) return;
  for (const Json& each : list->as_array()) {
    const std::string type = each.string_at("type");
    const bool is_others = type == "DisruptionTarget" && each.string_at("reason") != "TerminationByKubelet";
    const bool is_known = type == "PodScheduled" || is_others || type == "UnknownFields" ||
                          std::any_of(conditions.begin(), conditions.end(),
                                      [&](const Json& other) { return other.string_at("type") == type; });
    if (!is_known) conditions.push_back(each);
  }
}

}  // namespace

std::string StatusView::why_pending(const PodEntry& entry) const {
  if (const std::string unready = readiness_of(context_).reason(); !unready.empty())
    return "the gateway is not ready: " + unready;
  if (auto found = placement_.state().bindings.find(entry.pod->uid()); found != placement_.state().bindings.end()) {
    const Row& row = found->second.row;
    if (!found->second.progress().request.provision.empty() && row.phase == Phase::none)
      return provisioning_of(found->second);
    if (found->second.progress().deferred)
      return "node " + row.node + " is chosen, and is asked when it has answered for others";
    if (row.phase == Phase::none) {
      std::string plugins;
      if (const WaitingPod* waiting = placement_.scheduler().waiting_pods().find(row.uid)) {
        for (const auto& [plugin, wait] : waiting->plugins) plugins += (plugins.empty() ? " of " : ", ") + plugin;
      }
      return "waiting on permit" + plugins + " for node " + row.node;
    }
    if (row.phase == Phase::prebind || row.phase == Phase::bind) {
      return "node " + row.node + " is asked to take the pod (" + std::string(to_string(row.phase)) + ")";
    }
  }
  if (const ReleaseEntry* holder = placement_.releases().holder_of_name(*entry.pod)) {
    const std::string key = release_key(holder->node, holder->uid, holder->epoch);
    if (!context_.identity->orphans.contains(key)) {
      return "waits until an earlier pod of this name has ended on node " + holder->node;
    }
    return "node " + holder->node +
           " runs a pod of this name whose object is lost: keep that one with berthctl adopt pod " +
           entry.pod->metadata.name + " --node " + holder->node + ", or end both with delete";
  }
  if (placement_.scheduler().queue().where(entry.pod->uid()) == Queue::Where::gated) {
    const Framework* framework = placement_.scheduler().framework_of(*entry.pod);
    const Status gate = framework == nullptr ? Status() : framework->run_pre_enqueue(*entry.pod);
    if (!gate.is_success()) return gate.message();
  }
  const std::optional<PodCondition>& condition = entry.extras().condition;
  return condition ? condition->message : std::string("not tried yet");
}

// As upstream's condition PodScheduled has it; what the gateway itself waits for is no error of the scheduler's.
std::string StatusView::reason_pending(const PodEntry& entry, const std::string& why) const {
  const std::optional<PodCondition>& condition = entry.extras().condition;
  return condition && condition->message == why ? condition->reason : "Unschedulable";
}

// Until the pod is bound: where it is about to be, or what preemption promised it.
std::string StatusView::nominated_node(const PodEntry& entry) const {
  if (entry.finished) return {};
  const auto found = placement_.state().bindings.find(entry.pod->uid());
  if (found == placement_.state().bindings.end()) return entry.pod->nominated_node_name;
  const Row& row = found->second.row;
  return row.phase == Phase::bound || row.phase == Phase::release ? Text() : row.node;
}

Json StatusView::pod_status(const PodEntry& entry) const {
  Json status = Json::object();
  Json scheduler = Json::object();
  const Json observed = entry.observed.json();
  const Json* observed_phase = observed.find("phase");
  bool scheduled = entry.finished;
  bool is_observed = false;  // by the device that it is on, in the present placement
  std::string phase = "Pending";
  if (auto found = placement_.state().bindings.find(entry.pod->uid()); found != placement_.state().bindings.end()) {
    const Row& row = found->second.row;
    scheduled = scheduled || row.phase == Phase::bound || row.phase == Phase::release;
    const Json* epoch = observed.find("epoch");
    const bool current = epoch != nullptr && *epoch == Json(to_text(row.epoch));
    if (current && observed_phase != nullptr && observed_phase->is_string()) phase = observed_phase->as_string();
    is_observed = current;
    status.set("nodeName", row.node.get());
    scheduler.set("phase", to_string(row.phase)).set("epoch", to_text(row.epoch));
  } else if (entry.finished) {
    if (observed_phase != nullptr && observed_phase->is_string()) phase = observed_phase->as_string();
    is_observed = true;
    if (const Json* node = observed.find("node")) status.set("nodeName", *node);
  }
  if (is_observed) show_containers(observed, status);
  status.set("phase", phase).set("qosClass", to_string(qos_class_of(entry.pod->spec.get())));
  if (entry.deleting) status.set("deleting", true);
  const std::string why = scheduled ? std::string() : why_pending(entry);
  Json::Array conditions{condition("PodScheduled", scheduled, scheduled ? "" : reason_pending(entry, why), why)};
  if (const Text& disruption = entry.extras().disruption; !disruption.empty()) {
    conditions.push_back(condition("DisruptionTarget", true, "PreemptionByScheduler", disruption));
  }
  if (entry.pod->spec->has_unknown_fields) add_unknown_fields(Kind::pod, entry.pod->manifest().json(), conditions);
  if (is_observed) add_device_conditions(observed, conditions);
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
  const Queue::Where where = placement_.scheduler().queue().where(entry.pod->uid());
  if (where != Queue::Where::none) scheduler.set("queue", name_of(where));
  if (const QueuedPod* queued = placement_.scheduler().queue().find(entry.pod->uid()))
    scheduler.set("attempts", queued->attempts);
  status.set("scheduler", std::move(scheduler));
  status.set("uid", entry.pod->uid().get());
  return status;
}

// Besides Ready: what the gateway does not believe of the device, or holds against it.
Json::Array StatusView::trouble_of(const std::string& name, const DeviceNode& device) const {
  Json::Array conditions;
  if (const std::string ignored = ignored_labels_in(name, device.facts); !ignored.empty()) {
    conditions.push_back(condition("LabelsIgnored", true, "ReservedLabels",
                                   "the device says " + ignored + ", which only the gateway or the operator can set"));
  }
  if (const Json* overlay = context_.objects.overlay(name)) add_unknown_fields(Kind::node, *overlay, conditions);
  const std::string expiring = why_certificate_expires(name, certificate_end(device), context_.clock.wall(),
                                                       placement_.nodes().renewals().problem(name, device));
  if (!expiring.empty()) conditions.push_back(condition("CertificateExpiring", true, "ExpiresSoon", expiring));
  if (const auto passed_over = device.holds.find(Hold::passed_over); passed_over != device.holds.end()) {
    const HoldName& hold = describe(Hold::passed_over);
    conditions.push_back(condition(hold.condition, true, hold.reason, passed_over->second));
  }
  if (!device.taken_over.empty()) conditions.push_back(condition("TakenOver", true, "Superseded", device.taken_over));
  if (const std::string why = quarantine_of(device.holds); !why.empty()) {
    const HoldName& hold = describe(device.holds.contains(Hold::twins) ? Hold::twins : Hold::state);
    conditions.push_back(condition(hold.condition, true, hold.reason, why));
  }
  // D5: of the other device of two.
  const std::string prefix = name + "/";
  const std::set<std::string>& twins = context_.identity->twins;
  for (auto at = twins.lower_bound(prefix); at != twins.end() && at->starts_with(prefix); ++at) {
    const std::string_view incarnation = std::string_view(*at).substr(prefix.size(), at->rfind('/') - prefix.size());
    if (incarnation == device.incarnation) continue;
    const std::string machine = at->substr(at->rfind('/') + 1);
    conditions.push_back(condition("PodsOnAnotherDevice", true, "TwoDevices",
                                   "pods were placed on another device of this name" +
                                       (machine.empty() ? "" : ", machine " + machine) +
                                       ", and may run there: they stay its own until it answers, or until `berthctl "
                                       "forget node " +
                                       name + "`"));
    break;
  }
  if (const std::string wrong = wrong_reports_of(name); !wrong.empty()) {
    conditions.push_back(condition("StatusInvalid", true, "WrongFields", wrong));
  }
  if (const std::string unowned = orphan_volumes_of(name); !unowned.empty()) {
    conditions.push_back(condition("OrphanVolumes", true, "NoPersistentVolume", unowned));
  }
  return conditions;
}

// Of one of its pods, and of how many more.
std::string StatusView::wrong_reports_of(const std::string& node) const {
  const LiveEpochs::Epochs* live = placement_.state().epochs.of(node);
  if (live == nullptr) return {};
  std::string first;
  std::size_t count = 0;
  for (const auto& [epoch, uid] : *live) {
    const PodEntry* entry = context_.objects.pods().find_by_uid(uid);
    if (entry == nullptr || entry->extras().wrong_report.empty()) continue;
    const Binding* binding = placement_.state().find(uid);
    if (binding == nullptr || binding->row.node != node || binding->row.epoch != epoch) continue;
    if (++count == 1) first = "status of pod " + entry->key + ": " + entry->extras().wrong_report;
  }
  if (count > 1) first += ", and of " + std::to_string(count - 1) + " more";
  return first.empty() ? first : first + "; this is left out";
}

Json StatusView::node_status(const std::string& name, const DeviceNode& device) const {
  Json status = Json::object();
  const Json facts = device.facts.json();
  if (device.node != nullptr) {
    for (std::string_view key : {"allocatable", "images", "volumePools", "nodeInfo"}) {
      if (const Json* own = facts.find(key)) status.set(key, *own);
    }
    if (const Json* features = facts.find("features")) status.set("declaredFeatures", *features);
  }
  const std::string unserved = Nodes::why_not_served(facts);
  const bool ready = device.reachable && device.node != nullptr && unserved.empty();
  const std::string why = device.reachable ? unserved : "no sign of life; nothing is placed on it";
  Json::Array conditions{condition("Ready", ready, unserved.empty() ? "" : "UnsupportedProtocol", why)};
  // A device that never says what it is short of may be short of anything.
  if (const auto protocol = read_protocol(facts.find("protocol")); protocol && *protocol >= kTellsPressure) {
    for (Json& each : pressure_conditions(facts.find("conditions"))) conditions.push_back(std::move(each));
  }
  for (Json& trouble : trouble_of(name, device)) conditions.push_back(std::move(trouble));
  status.set("conditions", Json(std::move(conditions)));
  status.set("incarnation", device.incarnation);
  return status;
}

// The operator's, or counted now.
Json StatusView::budget_status(const PodDisruptionBudget& budget) const {
  if (budget.has_status) return *budget.manifest.find("status");
  const DisruptionStatus counted = context_.objects.disruption_of(budget);
  Json status = Json::object();
  status.set("disruptionsAllowed", std::int64_t{counted.disruptions_allowed});
  status.set("currentHealthy", std::int64_t{counted.current_healthy});
  status.set("desiredHealthy", std::int64_t{counted.desired_healthy});
  return status.set("expectedPods", std::int64_t{counted.expected_pods});
}

Json StatusView::status_of(Kind kind, const std::string& key) const {
  if (kind == Kind::pod) {
    const PodEntry* entry = context_.objects.pods().find(key);
    return entry == nullptr ? Json() : pod_status(*entry);
  }
  if (kind == Kind::node) {
    auto found = context_.nodes.all().find(key);
    return found == context_.nodes.all().end() ? Json() : node_status(key, found->second);
  }
  const Json manifest = context_.objects.manifest(kind, key);
  if (manifest.is_null()) return {};
  if (const Workloads::Entry* workload = context_.objects.workloads().find(kind, key)) {
    return workload->status.is_null() ? Json::object() : workload->status;
  }
  Json status = Json::object();
  const auto add_half = [&status](const auto& half) {
    status.set("phase", half->phase);
    if (half->metadata.deleting) status.set("deleting", true);
  };
  if (kind == Kind::persistent_volume) add_half(context_.objects.volume(key));
  if (kind == Kind::persistent_volume_claim) add_half(context_.objects.claim(key));
  Json::Array conditions;
  add_unknown_fields(kind, manifest, conditions);
  if (!conditions.empty()) status.set("conditions", Json(std::move(conditions)));
  return status;
}

Json StatusView::node_notes(const std::string& first) const {
  Json notes = Json::array();
  const auto add = [&](const std::string& name, const DeviceNode& device) {
    for (const Json& trouble : trouble_of(name, device)) {
      Json note = Json::object();
      const bool passed_over = *trouble.find("type") == Json(describe(Hold::passed_over).condition);
      const std::string now = passed_over ? placement_.nodes().passed_over(name) : std::string();
      notes.push_back(note.set("node", name).set("message", now.empty() ? *trouble.find("message") : Json(now)));
    }
  };
  const auto& nodes = context_.nodes.all();
  if (const auto named = nodes.find(first); named != nodes.end()) add(first, named->second);
  for (const auto& [name, device] : nodes) {
    if (notes.as_array().size() >= kMaxNotes) break;
    if (name != first) add(name, device);
  }
  return notes;
}

Json StatusView::view(Kind kind, const std::string& key) const {
  Json object;
  if (kind == Kind::node) {
    auto found = context_.nodes.all().find(key);
    if (found == context_.nodes.all().end()) return {};
    object = Json::object();
    object.set("metadata", Json(Json::Object{{"name", Json(key)}}));
    if (found->second.node != nullptr) object = context_.nodes.manifest(key, context_.objects.overlay(key));
    object.set("status", node_status(key, found->second));
  } else {
    object = context_.objects.manifest(kind, key);
    if (object.is_null()) return {};
    if (kind == Kind::persistent_volume || kind == Kind::persistent_volume_claim) {
      object.set("status", status_of(kind, key));
    }
    const Workloads::Entry* workload = context_.objects.workloads().find(kind, key);
    if (workload != nullptr && !workload->status.is_null()) object.set("status", workload->status);
    if (kind == Kind::pod_disruption_budget)
      object.set("status", budget_status(*context_.objects.find<PodDisruptionBudget>(key)));
    if (kind == Kind::pod) {
      const Json status = pod_status(*context_.objects.pods().find(key));
      if (const Json* node = status.find("nodeName")) {
        if (Json* spec = object.find("spec")) spec->set("nodeName", *node);
      }
      object.set("status", status);
    }
  }
  if (object.find("kind") == nullptr) object.set("kind", describe(kind).name);
  return object;
}

Json StatusView::orphan_view(const std::string& orphan) const {
  const auto found = placement_.state().releases.find(orphan);
  if (found == placement_.state().releases.end()) return {};
  const ReleaseEntry& entry = found->second.entry;
  const std::size_t slash = entry.pod.find('/');
  Json metadata = Json::object();
  if (slash == std::string::npos) {
    metadata.set("namespace", "default").set("name", entry.uid);  // of a store of an earlier version
  } else {
    metadata.set("namespace", entry.pod.substr(0, slash)).set("name", entry.pod.substr(slash + 1));
  }
  metadata.set("uid", entry.uid);
  Json status = Json::object();
  status.set("phase", "Orphan").set("nodeName", entry.node).set("uid", entry.uid);
  status.set("message", "node " + entry.node +
                            " runs it, and its object is lost: keep it with berthctl adopt pod, or end it with delete");
  status.set("scheduler", Json(Json::Object{{"epoch", Json(to_text(entry.epoch))}}));
  Json pod = Json::object();
  pod.set("apiVersion", "v1").set("kind", "Pod").set("metadata", std::move(metadata));
  pod.set("spec", Json(Json::Object{{"nodeName", Json(entry.node)}}));
  return pod.set("status", std::move(status));
}

bool StatusView::is_passing(const std::string& pod_key) const {
  const PodEntry* entry = context_.objects.pods().find(pod_key);
  if (entry == nullptr || entry->deleting) return false;
  const auto found = placement_.state().bindings.find(entry->pod->uid());
  if (found == placement_.state().bindings.end())
    return placement_.scheduler().queue().where(entry->pod->uid()) == Queue::Where::active;
  return found->second.progress().deferred || found->second.row.phase == Phase::prebind ||
         found->second.row.phase == Phase::bind;
}

Json StatusView::published_status_of(Kind kind, const std::string& key) const {
  Json status = status_of(kind, key);
  if (status.is_null()) return status;
  // The condition PodScheduled reports it to all who subscribe; the epoch, the start, and what follows from the
  // manifest and the node are for those who ask.
  if (kind == Kind::pod) {
    for (std::string_view each : {"startTime", "hostIP", "hostIPs", "qosClass"}) status.erase(each);
  }
  const Json* scheduler = kind == Kind::pod ? status.find("scheduler") : nullptr;
  const Json* phase = scheduler == nullptr ? nullptr : scheduler->find("phase");
  if (phase != nullptr && *phase == Json(to_string(Phase::bound))) status.erase("scheduler");
  return status;
}

}  // namespace berth
