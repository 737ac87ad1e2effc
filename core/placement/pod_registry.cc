#include "core/placement/pod_registry.h"

#include <algorithm>
#include <utility>

#include "core/api/defaults.h"
#include "core/api/timestamp.h"
#include "core/json/members.h"
#include "core/objects/accepting.h"
#include "core/objects/object_events.h"
#include "core/objects/pod_report.h"
#include "core/placement/pod_news.h"
#include "core/placement/queue_positions.h"

namespace berth {

namespace {

constexpr std::size_t kMaxObservedBytes = 24 * 1024;  // an agent's is at most 16 KiB

// The members of a device's report that a status or a decision reads; the row has the rest.
constexpr std::string_view kObserved[] = {"epoch",
                                          "phase",
                                          "startTime",
                                          "hostIP",
                                          "hostIPs",
                                          "podIP",
                                          "podIPs",
                                          "initContainerStatuses",
                                          "containerStatuses",
                                          "message",
                                          "reason",
                                          "conditions"};

// It becomes part of the pod's status, which must fit into a message: of a longer one only what the row needs is kept.
Json observed_of(const std::string& node, const Json& report, std::size_t bytes) {
  Json observed = Json::object();
  for (std::string_view key : kObserved) {
    if (bytes > kMaxObservedBytes && key == "initContainerStatuses") break;
    if (const Json* member = report.find(key)) observed.set(key, *member);
  }
  if (Json ids = event_ids_of(report); !ids.is_null()) observed.set("events", std::move(ids));
  // The row, which names the node, goes before the pod does.
  const std::string phase = report.string_at("phase");
  if (phase == "Succeeded" || phase == "Failed") observed.set("node", node);
  if (bytes > kMaxObservedBytes) {
    observed.set("message", "the node's report was larger than 24 KiB; only its phase was taken");
  }
  return observed;
}

// An agent that has just started has not read yet how the containers of a running slot are; it will say so.
bool knows_less(const Json& observed, const Json& report, const Json& before) {
  constexpr std::string_view kContainers = "containerStatuses";
  return report.string_at("slot") == "running" && observed.string_at("phase") == "Pending" &&
         observed.find(kContainers) == nullptr && before.find(kContainers) != nullptr &&
         before.string_at("epoch") == observed.string_at("epoch");
}

// The Job that made the pod counts it before it goes (batch/v1).
bool waits_for_its_job(const Pod& pod) {
  if (pod.metadata.controller_uid.empty() || !is_made_here(pod)) return false;
  const Json manifest = pod.manifest().json();
  const Json::Array& finalizers = list_of(member(manifest, "metadata"), "finalizers");
  return std::find(finalizers.begin(), finalizers.end(), Json("batch.kubernetes.io/job-tracking")) != finalizers.end();
}

}  // namespace

void PodRegistry::create(const PodPtr& pod) {
  const std::string key = pod->metadata.key();
  PodEntry& entry = context_.objects.pods().put(pod);
  entry.arrived = context_.clock.now();
  context_.objects.pods().save(key);
  context_.mirror.publish_accepted(entry);
  context_.publisher.mark(Kind::pod, key);
  context_.identity.erase(&Identity::deleted, pod->uid());
  context_.identity.erase(&Identity::deleted, key);
  context_.identity.erase(&Identity::withdrawn, pod->uid());
  context_.mirror.past().note_back(pod->uid());
  parts_.releases.list_nodes_of_orphans(pod->uid());
  parts_.ephemeral_claims.make(*pod);
  enqueue(pod);
}

bool PodRegistry::update(PodEntry& entry, const CountedPtr<Pod>& next) {
  const PodPtr before = entry.pod;
  next->nominated_node_name = before->nominated_node_name;
  next->start_time = before->start_time;
  if (next->manifest() == before->manifest()) return false;
  const std::string key = next->metadata.key();
  if (is_mirrored(*next)) {
    context_.mirror.past().remember_version(key, before->manifest().json(), next->manifest().json());
  }
  context_.objects.pods().put(next);
  context_.objects.pods().save(key);
  context_.mirror.publish_accepted(entry);
  context_.publisher.mark(Kind::pod, key);
  tell_scheduler(entry, before);
  return true;
}

// A new version of a pod that waits, or that counts on a node.
void PodRegistry::tell_scheduler(const PodEntry& entry, const PodPtr& before) {
  std::string_view uid = entry.pod->uid();
  parts_.lifecycle.set_pod(uid, entry.pod);
  const bool has_binding = parts_.state.bindings.contains(uid);
  // One that is being deleted and has no row is in no queue, and only waits for its controller.
  if (has_binding ? !parts_.scheduler.cache().is_placed(uid) : entry.finished || entry.deleting) return;
  parts_.scheduler.handlers().pod_updated(before, entry.pod);
}

// While it still takes resources, plugins see that it is being deleted, as by metadata.deletionTimestamp.
void PodRegistry::show_leaving(PodEntry& entry) {
  auto leaving = make_counted<Pod>(*entry.pod);
  leaving->metadata.deleting = true;
  leaving->preempted = !entry.extras().disruption.empty();
  const PodPtr before = entry.pod;
  context_.objects.pods().put(std::move(leaving));
  if (parts_.state.bindings.contains(entry.pod->uid())) tell_scheduler(entry, before);
}

// P7: by phase.
void PodRegistry::remove(PodEntry& entry) {
  const std::string uid = entry.pod->uid();
  const std::string key = entry.pod->metadata.key();
  entry.deleting = true;
  context_.objects.pods().save(key);
  context_.publisher.mark(Kind::pod, key);
  show_leaving(entry);
  const Binding* binding = parts_.state.find(uid);
  if (binding == nullptr) {
    if (!context_.identity->adopting) return finish_removal(key);
    return parts_.scheduler.queue().remove(uid);
  }
  const std::string reason = "pod was deleted";
  switch (binding->row.phase) {
    case Phase::none:
      parts_.lifecycle.give_up_waiting(uid, "removed", reason);
      return parts_.lifecycle.deliver_permits();
    case Phase::prebind: return parts_.lifecycle.feed(uid, RowEvent::leave, reason);
    case Phase::bind:
    case Phase::bound: return parts_.lifecycle.feed(uid, RowEvent::remove, reason);
    case Phase::release: return;  // completes in the transaction of Released
  }
}

void PodRegistry::finish_removal(const std::string& key) {
  PodEntry* entry = context_.objects.pods().find(key);
  if (waits_for_its_job(*entry->pod)) {
    context_.publisher.mark(Kind::pod, key);
    return parts_.scheduler.queue().remove(std::string(entry->pod->uid()));
  }
  const Json successor = entry->extras().successor.json();
  const PodPtr pod = entry->pod;
  const std::string promised = parts_.scheduler.queue().nominator().node_of(pod->uid());
  const bool order_retained = entry->order_session == context_.mirror.barrier().session();
  parts_.output.pod_gone(*entry);
  forget_position(context_, pod->uid());
  const bool was_ordered = is_mirrored(*pod) || order_retained;
  if (was_ordered) context_.mirror.past().remember_gone(key, pod->manifest().json());
  context_.objects.pods().erase(key);
  context_.events.part_from(Kind::pod, key);
  context_.publisher.mark(Kind::pod, key);
  // What it really took was freed as its row ended.
  auto gone = make_counted<Pod>(*pod);
  gone->nominated_node_name = promised;
  parts_.scheduler.handlers().pod_deleted(gone);
  parts_.ephemeral_claims.remove(*pod);
  parts_.volumes.delete_unused();
  if (successor.is_null()) {
    if (was_ordered) context_.mirror.clear_pod(key, pod->uid(), order_retained);
    return;
  }
  create_successor(*pod, successor, order_retained);
}

void PodRegistry::finish_held_removal(const std::string& key) {
  const PodEntry* entry = context_.objects.pods().find(key);
  if (entry != nullptr && entry->deleting && !parts_.state.bindings.contains(entry->pod->uid())) finish_removal(key);
}

// What was checked when it was accepted is not asked again: a class deleted meanwhile would lose the pod.
void PodRegistry::create_successor(const Pod& gone, const Json& successor, bool order_retained) {
  const std::string key = gone.metadata.key();
  Result<Pod> next = decode_accepted_pod(successor);
  if (!next) {
    log_refused(context_.log, "successor of pod " + key, next.error().message());
    return context_.mirror.clear_pod(key, gone.uid(), order_retained);
  }
  // An order from the broker, which made it wait, is retained there; one that came another way left the old pod's.
  if (order_retained) context_.mirror.superseded().note_retained({Kind::pod, key}, gone.manifest().text());
  context_.mirror.superseded().supersede({Kind::pod, key}, std::string(next->manifest().text()));
  create(make_counted<const Pod>(std::move(*next)));
}

void PodRegistry::finish_removals(bool of_finished_pods) {
  std::vector<std::string> waiting;
  for (const auto& [key, entry] : context_.objects.pods().all()) {
    if (!entry.deleting || (entry.finished && !of_finished_pods)) continue;
    if (!parts_.state.bindings.contains(entry.pod->uid())) waiting.push_back(key);
  }
  for (const std::string& key : waiting) finish_removal(key);
}

void PodRegistry::enqueue(const PodPtr& pod, const QueuePosition* kept) {
  if (parts_.scheduler.framework_of(*pod) != nullptr) {
    EventHandlers& handlers = parts_.scheduler.handlers();
    return kept == nullptr ? handlers.pod_added(pod) : handlers.pod_restored(pod, *kept);
  }
  PodEntry* entry = context_.objects.pods().find(pod->metadata.key());
  if (entry == nullptr) return;
  PodCondition unknown_profile;
  unknown_profile.reason = "Unschedulable";
  unknown_profile.message = "spec.schedulerName: no profile \"" + pod->spec->scheduler_name +
                            "\" in this gateway; add it, or re-create the pod";
  entry->edit_extras([&unknown_profile](PodExtras& extras) { extras.condition = unknown_profile; });
}

void PodRegistry::enqueue_if_free(std::string_view uid) {
  const PodEntry* entry = context_.objects.pods().find_by_uid(uid);
  const bool waits = entry != nullptr && !entry->deleting && !entry->finished && !parts_.state.bindings.contains(uid) &&
                     parts_.scheduler.queue().where(uid) == Queue::Where::none &&
                     !parts_.releases.may_run_elsewhere(*entry->pod);
  if (waits) enqueue(entry->pod);
}

// In the order in which they would be tried: the queue breaks ties of its own order by arrival.
void PodRegistry::restore_queue() {
  std::vector<std::pair<QueuePosition, PodPtr>> waiting;
  for (const auto& [key, entry] : context_.objects.pods().all()) {
    std::string_view uid = entry.pod->uid();
    if (entry.finished || entry.deleting || entry.bound_at_start) continue;
    if (parts_.scheduler.cache().is_placed(uid) || parts_.state.bindings.contains(uid)) continue;
    QueuePosition position;
    position.timestamp = entry.arrived;
    position = entry.extras().position.value_or(position);
    waiting.emplace_back(position, entry.pod);
  }
  std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
    if (a.first.timestamp != b.first.timestamp) return a.first.timestamp < b.first.timestamp;
    return a.second->metadata.key() < b.second->metadata.key();
  });
  for (const auto& [position, pod] : waiting) enqueue(pod, &position);
}

// A new version that differs only in what the gateway itself sets.
void PodRegistry::replace(PodEntry& entry, const PodPtr& changed) {
  const std::string uid = changed->uid();
  context_.objects.pods().put(changed);
  parts_.lifecycle.set_pod(uid, entry.pod);
  if (parts_.scheduler.cache().node_of(uid)) parts_.scheduler.cache().update(entry.pod);
}

// Preemption prefers victims that started last. No pod is rejected for it, so no event follows.
void PodRegistry::note_start(PodEntry& entry, const Json& observed) {
  const Json* reported = observed.find("startTime");
  std::optional<std::int64_t> start;
  if (reported != nullptr && reported->is_string()) start = parse_timestamp(reported->as_string());
  if (start == entry.pod->start_time) return;
  auto changed = make_counted<Pod>(*entry.pod);
  changed->start_time = start;
  replace(entry, changed);
}

void PodRegistry::tell_news(const PodEntry& entry, const Row& row, const Json& observed, const Json& report) {
  const Json before = entry.observed.json();
  // What the broker retained is known since an earlier session. So is what runs since an earlier start, which its
  // device says again where the broker retained nothing: the embedded one restarts with the gateway.
  if (before.is_null() && (!context_.mirror.barrier().is_synced() || parts_.state.was_bound_before(row))) return;
  const bool is_same = before.string_at("epoch") == observed.string_at("epoch");
  for (ObjectEvent& event : news_of(*entry.pod, row.node, is_same ? before : Json(), observed)) {
    context_.events.record(std::move(event));
  }
  const Json known = is_same ? member(before, "events") : Json();
  for (ObjectEvent& event : device_news_of(*entry.pod, row.node, known, report)) {
    context_.events.record(std::move(event));
  }
}

// Shown with the node, whose device has to be mended.
void PodRegistry::note_faults(PodEntry& entry, const std::string& node, const std::string& first) {
  if (entry.extras().wrong_report == first) return;
  entry.edit_extras([&first](PodExtras& extras) { extras.wrong_report = first; });
  context_.publisher.mark(Kind::node, node);
  if (!first.empty()) log_refused(context_.log, "part of the status of pod " + std::string(entry.key), first);
}

Status PodRegistry::take_status(const std::string& node, const std::string& key, const Json& report,
                                std::size_t bytes) {
  const Json* uid = report.find("uid");
  const Json* epoch_text = report.find("epoch");
  if (uid == nullptr || !uid->is_string()) return Status::error("uid: expected a string");
  if (epoch_text == nullptr || !epoch_text->is_string()) return Status::error("epoch: expected a string");
  Result<Epoch> epoch = parse_epoch(epoch_text->as_string());
  if (!epoch) return Status::error("epoch: " + epoch.error().message());
  const Binding* binding = parts_.state.find(uid->as_string());
  if (binding == nullptr) return Status::ok();
  if (binding->row.node != node || binding->row.epoch != *epoch || binding->row.pod != key) return Status::ok();
  PodEntry* entry = context_.objects.pods().find(key);
  if (entry == nullptr || entry->finished) return Status::ok();
  Json right = report;
  note_faults(*entry, node, remove_faults(right));
  const Json observed = observed_of(node, right, bytes);
  Report taken(observed);
  if (entry->observed == taken || knows_less(observed, report, entry->observed.json())) return Status::ok();
  tell_news(*entry, binding->row, observed, right);
  entry->observed = std::move(taken);
  note_start(*entry, observed);
  context_.publisher.mark(Kind::pod, key);
  parts_.lifecycle.take_finished(*binding);
  return Status::ok();
}

void PodRegistry::save_writes(bool saving) {
  saving_writes_ = saving;
  context_.nodes.save_writes(saving);
  if (!saving) save_deferred();
}

void PodRegistry::save_deferred() {
  context_.nodes.save_deferred();
  for (const auto& [key, entry] : context_.objects.pods().all()) {
    if (!entry.unsaved) continue;
    context_.objects.pods().find(key)->unsaved = false;
    context_.objects.pods().save(key);
  }
}

}  // namespace berth
