#include "core/controllers/wake_owners.h"

namespace berth {
namespace {

void wake_controller(std::string_view kind, const ControlledObject& object, const ClusterAccess& cluster,
                     WorkQueue& queue) {
  if (const ObjectPtr owner = find_controller(kind, object, cluster)) queue.add(key_of(*owner));
}

}  // namespace

ObjectPtr find_controller(std::string_view kind, const ControlledObject& object, const ClusterAccess& cluster) {
  const OwnerReference* reference = controller_of(object.metadata);
  if (reference == nullptr || reference->kind != kind) return nullptr;
  ObjectPtr owner = cluster.find(kind, {std::string(object.metadata.namespace_), reference->name});
  return owner != nullptr && owner->metadata.uid == reference->uid ? owner : nullptr;
}

void wake_owners(std::string_view kind, const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue,
                 const std::function<bool(const ControlledObject& owner, const ControlledObject& object)>& selects) {
  const ControlledObject* before = change.before.get();
  const ControlledObject* after = change.after.get();
  if (after == nullptr) {
    wake_controller(kind, *before, cluster, queue);
    return;
  }
  const auto uid_of = [](const ControlledObject& object) { return object.metadata.controller_uid; };
  const bool is_other = before != nullptr && uid_of(*before) != uid_of(*after);
  if (is_other) wake_controller(kind, *before, cluster, queue);
  if (!uid_of(*after).empty()) {
    wake_controller(kind, *after, cluster, queue);
    return;
  }
  if (after->metadata.deletion) return;
  const bool may_match_anew = before == nullptr || is_other || before->metadata.labels != after->metadata.labels;
  if (!may_match_anew) return;
  for (const ObjectPtr& owner : cluster.list(kind, after->metadata.namespace_)) {
    if (selects(*owner, *after)) queue.add(key_of(*owner));
  }
}

}  // namespace berth
