// Manifests in: accept, update, delete (rules.md P7). The gateway owns the objects; absence never deletes.
#include <algorithm>

#include "core/api/defaults.h"
#include "core/api/packed.h"
#include "core/gateway/gateway.h"
#include "core/handshake/fields.h"
#include "core/objects/accepting.h"
#include "core/objects/object_events.h"

namespace berth {

namespace {

constexpr std::size_t kMaxPodBytes = 56 * 1024;  // PreBind carries it whole in 64 KiB

// What may change after a pod is accepted, taken out: labels, annotations, tolerations, gates, status and the uid.
Json fixed_part(Json fixed) {
  fixed.erase("status");
  if (Json* metadata = fixed.find("metadata")) {
    for (std::string_view key :
         {"labels", "annotations", "uid", "resourceVersion", "generation", "creationTimestamp"}) {
      metadata->erase(key);
    }
  }
  if (Json* spec = fixed.find("spec")) {
    for (std::string_view key : {"tolerations", "schedulingGates", "priority", "nodeName"}) spec->erase(key);
  }
  return fixed;
}

template <class T>
bool keeps_all(const std::vector<T>& before, const std::vector<T>& after) {
  return std::all_of(before.begin(), before.end(),
                     [&](const T& item) { return std::find(after.begin(), after.end(), item) != after.end(); });
}

}  // namespace

Result<Gateway::Accepted> Gateway::accept(Kind kind, const Json& object, const std::string& expected_key,
                                          bool recreate) {
  if (!object.is_object()) return Status::error("a JSON object is wanted");
  switch (kind) {
    case Kind::pod: return accept_pod(object, expected_key, recreate);
    case Kind::node: return accept_node_overlay(object, expected_key);
    default: return accept_other(kind, object, expected_key);
  }
}

Status Gateway::admit_priority(Json& manifest) {
  // kube-apiserver's priority admission plugin (plugin/pkg/admission/priority): the class sets the number.
  Json* spec = manifest.find("spec");
  if (spec == nullptr || !spec->is_object()) return Status::ok();  // the decoder says what is wrong
  const Json* name = spec->find("priorityClassName");
  std::shared_ptr<const PriorityClass> chosen;
  if (name != nullptr && name->is_string() && !name->as_string().empty()) {
    chosen = objects_.find<PriorityClass>(name->as_string());
    if (chosen == nullptr) {
      return Status::error("spec.priorityClassName: no PriorityClass \"" + name->as_string() + "\"; apply it first");
    }
  } else if (spec->find("priority") == nullptr) {
    chosen = objects_.default_priority_class();
  }
  if (chosen == nullptr) return Status::ok();
  spec->set("priority", static_cast<std::int64_t>(chosen->value));
  if (!chosen->preemption_policy.empty() && spec->find("preemptionPolicy") == nullptr) {
    spec->set("preemptionPolicy", chosen->preemption_policy);
  }
  return Status::ok();
}

Result<Gateway::Admitted> Gateway::admit_pod(const Json& object, const std::string& expected_key, bool recreate) {
  Json manifest = as_accepted(Kind::pod, object);
  if (Status admitted = admit_priority(manifest); !admitted.is_success()) return admitted;
  manifest.erase("status");  // the gateway's to say
  Warnings warnings;
  Result<Pod> decoded = decode_named<Pod>(decode_pod, manifest, expected_key, warnings);
  if (!decoded) return decoded.error();
  auto pod = std::make_shared<Pod>(std::move(*decoded));
  set_defaults(*pod);
  share_parts(*pod);
  const std::string key = pod->metadata.key();
  if (framework_of(*pod) == nullptr) {
    return Status::error("spec.schedulerName: no profile \"" + pod->scheduler_name + "\" in this gateway");
  }
  const PodEntry* entry = objects_.find_pod(key);
  const bool same = entry != nullptr && (pod->uid().empty() || pod->uid() == entry->pod->uid()) && !recreate;
  if (pod->metadata.uid.empty()) {
    pod->metadata.uid = same ? entry->pod->uid() : Text(random_.hex_id());
    manifest.find("metadata")->set("uid", pod->metadata.uid.get());
    pod->set_manifest(manifest.dump());
  } else if (recreate && entry != nullptr && pod->uid() == entry->pod->uid()) {
    return Status::error("metadata.uid: a re-created pod needs another uid; leave it out");
  }
  if (!is_valid_id(pod->metadata.uid)) {
    return Status::error("metadata.uid: \"" + pod->metadata.uid + "\" must be 1 to 128 letters, digits, '.', '_', '-'");
  }
  if (pod->manifest().text().size() > kMaxPodBytes) {
    return Status::error("the pod is larger than 56 KiB, more than PreBind can carry; move what is large to a volume");
  }
  if (same) {
    if (Status allowed = check_update(*entry, *pod); !allowed.is_success()) return allowed;
    return Admitted{std::move(pod), true, std::move(warnings)};
  }
  if (const PodEntry* other = objects_.find_pod_by_uid(pod->uid())) {
    return Status::error("metadata.uid: \"" + pod->uid() + "\" is that of pod " + other->pod->metadata.key());
  }
  for (const auto& [other, waiting] : objects_.names_awaited()) {
    if (other == key || waiting != pod->uid()) continue;
    return Status::error("metadata.uid: \"" + pod->uid() + "\" is that of pod " + other + ", which waits for its name");
  }
  return Admitted{std::move(pod), false, std::move(warnings)};
}

Result<Gateway::Accepted> Gateway::accept_pod(const Json& object, const std::string& expected_key, bool recreate) {
  Result<Admitted> admitted = admit_pod(object, expected_key, recreate);
  if (!admitted) return admitted.error();
  const std::shared_ptr<Pod>& pod = admitted->pod;
  const std::string key = pod->metadata.key();
  PodEntry* entry = objects_.find_pod(key);
  if (admitted->known) return update_pod(*entry, pod, std::move(admitted->warnings));
  if (Status has = capacity(); !has.is_success()) return has;
  Accepted accepted{"created", key, pod->uid(), std::move(admitted->warnings)};
  if (entry == nullptr) {
    create_pod(pod);
    return accepted;
  }
  // Same name, another uid: delete, then create. The new pod waits until the old one's row is gone.
  accepted.word = "waiting";
  objects_.set_successor(*entry, pod->manifest());
  objects_.save_pod(key);
  remove_pod(*entry);
  const PodEntry* now = objects_.find_pod(key);
  if (now != nullptr && now->pod->uid() == accepted.uid) accepted.word = "created";
  return accepted;
}

Status Gateway::check_update(const PodEntry& entry, const Pod& next) {
  const Pod& before = *entry.pod;
  if (entry.deleting) return Status::error("the pod is being deleted; apply it again when it is gone");
  // A broker says its retained manifests again at each connect: nearly all are what is known.
  if (before.shape == next.shape) return {};
  if (fixed_part(before.manifest().json()) != fixed_part(next.manifest().json())) {
    return Status::error(
        "immutable: only labels, annotations, added tolerations and removed scheduling gates may change; "
        "delete and apply again (berthctl apply --recreate does both)");
  }
  if (!keeps_all(before.tolerations.get(), next.tolerations.get())) {
    return Status::error("spec.tolerations: tolerations may be added, not removed; delete and apply again");
  }
  if (!keeps_all(next.scheduling_gates.get(), before.scheduling_gates.get())) {
    return Status::error("spec.schedulingGates: gates may be removed, not added; delete and apply again");
  }
  return {};
}

Result<Gateway::Accepted> Gateway::update_pod(PodEntry& entry, const std::shared_ptr<Pod>& next, Warnings warnings) {
  Accepted accepted{"unchanged", next->metadata.key(), next->uid(), std::move(warnings)};
  const std::shared_ptr<const Pod> before = entry.pod;
  next->nominated_node_name = before->nominated_node_name;
  next->start_time = before->start_time;
  if (next->manifest() == before->manifest()) return accepted;
  accepted.word = "updated";
  objects_.put_pod(next);
  objects_.save_pod(accepted.key);
  mirror_pod(entry);
  publisher_.mark(Kind::pod, accepted.key);
  if (auto found = bindings_.find(next->uid()); found != bindings_.end()) {
    found->second.pod = next;
    if (cache_.node_of(next->uid())) {
      cache_.update(next);
      wake_updated(*before, *next, found->second.row.node);
    }
  } else if (!entry.finished) {
    scheduler_.pod_updated(before, next);
  }
  return accepted;
}

void Gateway::create_pod(const std::shared_ptr<const Pod>& pod) {
  const std::string key = pod->metadata.key();
  PodEntry& entry = objects_.put_pod(pod);
  entry.arrived = clock_.now();
  objects_.save_pod(key);
  mirror_pod(entry);
  publisher_.mark(Kind::pod, key);
  if (identity_.deleted.erase(pod->uid()) + identity_.withdrawn.erase(pod->uid()) > 0) identity_changed_ = true;
  ask_for_orphans(pod->uid());
  enqueue(pod);
}

Result<Gateway::Accepted> Gateway::accept_node_overlay(const Json& object, const std::string& expected_key) {
  Warnings warnings;
  Result<Node> node = decode_named<Node>(decode_node, object, expected_key, warnings);
  if (!node) return node.error();
  const std::string name = node->metadata.name;
  const Json* before = objects_.overlay(name);
  Accepted accepted{before == nullptr ? "created" : "updated", name, {}, std::move(warnings)};
  if (before != nullptr && *before == object) {
    accepted.word = "unchanged";
    return accepted;
  }
  objects_.put_overlay(name, object);
  mirror(Kind::node, name);
  nodes_.expect(name);
  if (identity_.adopting && !synced_ && !is_retired(name)) {
    identity_.adopt_nodes.insert(name);
    identity_changed_ = true;
  }
  refresh_node(name);
  return accepted;
}

Status Gateway::remove_object(Kind kind, const std::string& key, const std::string& uid) {
  const std::string what = std::string(describe(kind).name) + " \"" + key + "\"";
  const Json manifest = objects_.manifest(kind, key);
  // The name may be another pod's by now; the workload is still that uid's.
  if (kind == Kind::pod && !uid.empty() && objects_.find_pod_by_uid(uid) == nullptr) {
    const bool released = release_orphans(uid);
    if (identity_.adopting && identity_.deleted.insert(uid).second) identity_changed_ = true;
    if (released) return Status::ok();
  }
  if (manifest.is_null()) return Status::error(what + " not found");
  if (PodEntry* entry = kind == Kind::pod ? objects_.find_pod(key) : nullptr; entry != nullptr) {
    // The pod that waits for the name goes too, unless the delete is meant for the old one only.
    const std::string waiting = uid_of(entry->successor.json());
    if (!waiting.empty() && (uid.empty() || uid == waiting)) {
      objects_.set_successor(*entry, {});
      objects_.save_pod(key);
      if (!uid.empty()) return Status::ok();
    }
  }
  const Json* metadata = manifest.find("metadata");
  const Json* own = metadata == nullptr ? nullptr : metadata->find("uid");
  if (!uid.empty() && (own == nullptr || *own != Json(uid))) {
    return Status::error(what + " with uid " + uid + " not found");
  }
  if (kind == Kind::pod) {
    remove_pod(*objects_.find_pod(key));
    return Status::ok();
  }
  if (kind == Kind::persistent_volume || kind == Kind::persistent_volume_claim) {
    begin_delete(kind, key);
    return Status::ok();
  }
  erase_other(kind, key);
  if (kind == Kind::node) refresh_node(key);
  return Status::ok();
}

// While it still takes room, plugins see that it is on its way out, as by metadata.deletionTimestamp.
void Gateway::show_leaving(PodEntry& entry) {
  auto leaving = std::make_shared<Pod>(*entry.pod);
  leaving->metadata.deleting = true;
  leaving->preempted = !entry.disruption.empty();
  const std::shared_ptr<const Pod> before = entry.pod;
  objects_.put_pod(std::move(leaving));
  auto found = bindings_.find(before->uid());
  if (found == bindings_.end()) return;
  found->second.pod = entry.pod;
  if (!cache_.node_of(before->uid())) return;
  cache_.update(entry.pod);
  wake_updated(*before, *entry.pod, found->second.row.node);
}

// A pod that is placed has changed.
void Gateway::wake_updated(const Pod& before, const Pod& after, const std::string& node) {
  EventObjects objects;
  objects.old_pod = placed_on(node, before);
  objects.new_pod = placed_on(node, after);
  for (const ClusterEvent& event : pod_events(*objects.old_pod, *objects.new_pod)) wake(event, objects);
}

// P7: by phase.
void Gateway::remove_pod(PodEntry& entry) {
  const std::string uid = entry.pod->uid();
  const std::string key = entry.pod->metadata.key();
  entry.deleting = true;
  objects_.save_pod(key);
  publisher_.mark(Kind::pod, key);
  show_leaving(entry);
  auto found = bindings_.find(uid);
  if (found == bindings_.end()) {
    if (!identity_.adopting) return finish_removal(key);
    return queue_.remove(uid);
  }
  found->second.edit().reason = "pod was deleted";
  switch (found->second.row.phase) {
    case Phase::none:
      // One that waits for a provisioner, not on Permit, hears of it alone.
      if (!scheduler_.waiting_pods().reject(uid, "", "removed")) feed_permit(uid, Status::error("pod was deleted"));
      return deliver_permits();
    case Phase::prebind: return feed(uid, RowEvent::leave);
    case Phase::bind:
    case Phase::bound: return feed(uid, RowEvent::remove);
    case Phase::release: return;  // completes in the transaction of Released
  }
}

void Gateway::finish_removal(const std::string& key) {
  PodEntry* entry = objects_.find_pod(key);
  const Json successor = entry->successor.json();
  const std::shared_ptr<const Pod> pod = entry->pod;
  const std::string promised = queue_.nominator().node_of(pod->uid());
  const bool was_left = entry->left_in == session_;
  queue_.remove(pod->uid());
  forget_place(pod->uid());
  conditions_.erase(key);
  objects_.erase_pod(key);
  deferred_writes_.erase(key);
  publisher_.part_from(key);
  publisher_.mark(Kind::pod, key);
  if (!promised.empty()) {
    // Others of its priority or less left it room there, as if it were placed (eventhandlers.go
    // deletePodFromSchedulingQueue). Room that it really took was told of as its row ended.
    EventObjects objects;
    auto old = std::make_shared<Pod>(*pod);
    old->nominated_node_name = promised;
    objects.old_pod = std::move(old);
    wake({EventResource::assigned_pod, kDelete, "AssignedPodDelete"}, objects);
  }
  delete_unused_volumes();
  if (successor.is_null()) return clear_pod(key, pod->uid(), was_left);
  // Accepted long ago: what was admitted then is not asked again, or a class deleted meanwhile would lose the pod.
  Result<Pod> next = decode_accepted_pod(successor);
  if (!next) {
    refuse("successor of pod " + key, next.error().message());
    return clear_pod(key, pod->uid(), was_left);
  }
  // The word that made it wait came by the broker and stands there; one that came another way left the old pod's.
  if (was_left) superseded_.note_retained({Kind::pod, key}, pod->manifest().text());
  superseded_.supersede({Kind::pod, key}, std::string(next->manifest().text()));
  create_pod(std::make_shared<const Pod>(std::move(*next)));
}

void Gateway::wake(const ClusterEvent& event, const EventObjects& objects) {
  queue_.move_all(event, objects);
  volumes_changed_ = volumes_changed_ || event.resource == EventResource::persistent_volume ||
                     event.resource == EventResource::persistent_volume_claim;
}

}  // namespace berth
