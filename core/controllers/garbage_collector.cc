#include "core/controllers/garbage_collector.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

namespace berth {
namespace {

// What controllers make, in the order in which it is looked at.
constexpr std::array<std::string_view, 5> kDependentKinds{"Job", "ReplicaSet", "ControllerRevision", "Pod",
                                                          "PersistentVolumeClaim"};
constexpr std::array<std::string_view, 10> kOwnerKinds{
    "Pod",       "Job",        "ReplicaSet", "ReplicationController", "StatefulSet",
    "DaemonSet", "Deployment", "CronJob",    "ControllerRevision",    "PersistentVolumeClaim"};

bool has_finalizer(const ControlledObject& object, std::string_view finalizer) {
  const std::vector<std::string>& all = object.metadata.finalizers.get();
  return object.metadata.deletion && std::find(all.begin(), all.end(), finalizer) != all.end();
}

ObjectPtr owner_of(const ClusterAccess& cluster, const ControlledObject& object, const OwnerReference& reference) {
  ObjectPtr owner = cluster.find(reference.kind, {std::string(object.metadata.namespace_), reference.name});
  return owner != nullptr && owner->metadata.uid == reference.uid ? owner : nullptr;
}

std::vector<ObjectPtr> dependents(const ClusterAccess& cluster) {
  std::vector<ObjectPtr> all;
  for (const std::string_view kind : kDependentKinds) {
    for (ObjectPtr& object : cluster.list(kind, "")) {
      if (!object->metadata.owner_references.empty()) all.push_back(std::move(object));
    }
  }
  return all;
}

bool drop_references(ClusterAccess& cluster, const ControlledObject& object, const std::vector<OwnerReference>& kept) {
  Json metadata = Json::object();
  metadata.set("ownerReferences", kept.empty() ? Json() : to_json(kept));
  return cluster.patch(object, Json::object().set("metadata", std::move(metadata))).is_done();
}

// `owners`: uids of objects that own something.
bool collect(ClusterAccess& cluster, const ControlledObject& object, const std::set<std::string>& owners) {
  std::vector<OwnerReference> kept;
  bool all_gone = true, all_going = true;
  for (const OwnerReference& reference : object.metadata.owner_references.get()) {
    const ObjectPtr owner = owner_of(cluster, object, reference);
    if (owner != nullptr && has_finalizer(*owner, kOrphanFinalizer)) continue;
    kept.push_back(reference);
    if (owner == nullptr && !cluster.knows(reference.kind)) all_gone = all_going = false;
    if (owner == nullptr) continue;
    all_gone = false;
    if (!has_finalizer(*owner, kForegroundFinalizer)) all_going = false;
  }
  bool changed = false;
  if (kept.size() != object.metadata.owner_references.size()) changed = drop_references(cluster, object, kept);
  if (kept.empty() || !all_going || object.metadata.deletion) return changed;
  const bool in_foreground = !all_gone && owners.contains(std::string(object.metadata.uid));
  const DeleteOptions options{.propagation = in_foreground ? Propagation::foreground : Propagation::background,
                              .grace_seconds = {},
                              .uid = std::string(object.metadata.uid)};
  return cluster.remove(object, options).is_done() || changed;
}

bool drop_finalizer(ClusterAccess& cluster, const ControlledObject& owner, std::string_view finalizer) {
  std::vector<std::string> kept = owner.metadata.finalizers.get();
  std::erase(kept, finalizer);
  Json metadata = Json::object();
  metadata.set("finalizers", kept.empty() ? Json() : to_json(kept));
  return cluster.patch(owner, Json::object().set("metadata", std::move(metadata))).is_done();
}

}  // namespace

bool collect_garbage(ClusterAccess& cluster) {
  bool changed = false;
  std::set<std::string> owners;
  const std::vector<ObjectPtr> all = dependents(cluster);
  for (const ObjectPtr& object : all) {
    for (const OwnerReference& each : object->metadata.owner_references.get()) owners.emplace(each.uid);
  }
  for (const ObjectPtr& object : all) changed = collect(cluster, *object, owners) || changed;

  std::set<std::string> blocked, referred;  // by what is left
  for (const ObjectPtr& object : dependents(cluster)) {
    for (const OwnerReference& each : object->metadata.owner_references.get()) {
      referred.emplace(each.uid);
      if (each.block_owner_deletion) blocked.emplace(each.uid);
    }
  }
  for (const std::string_view kind : kOwnerKinds) {
    for (const ObjectPtr& owner : cluster.list(kind, "")) {
      const std::string uid(owner->metadata.uid);
      if (has_finalizer(*owner, kForegroundFinalizer) && !blocked.contains(uid)) {
        changed = drop_finalizer(cluster, *owner, kForegroundFinalizer) || changed;
      } else if (has_finalizer(*owner, kOrphanFinalizer) && !referred.contains(uid)) {
        changed = drop_finalizer(cluster, *owner, kOrphanFinalizer) || changed;
      }
    }
  }
  return changed;
}

}  // namespace berth
