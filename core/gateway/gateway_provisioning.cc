// Claims to be filled first: a pod whose node was chosen waits until provisioners have made its volumes there
// (kube-scheduler volumebinding/binder.go BindPodVolumes). Nothing durable but the claims' annotation: after a restart
// the pod is decided anew, and the annotation keeps it to the node.
#include <utility>

#include "core/gateway/gateway.h"
#include "core/objects/object_events.h"

namespace berth {

Status Gateway::await_provisioners(Binding& binding, Millis again_at) {
  for (const std::string& key : binding.journey().provisioning) {
    EventObjects objects;
    note_old(objects, objects_, Kind::persistent_volume_claim, key);
    if (!objects_.select_node(key, binding.row.node)) continue;
    note_new(objects, objects_, Kind::persistent_volume_claim, key);
    publisher_.mirror(Kind::persistent_volume_claim, key);
    publisher_.mark(Kind::persistent_volume_claim, key);
    wake(*event_of(Kind::persistent_volume_claim, kUpdate), objects);
  }
  binding.edit().deadline = timers_.at(again_at, [this, uid = binding.row.uid] {
    bindings_.find(uid)->second.edit().deadline = 0;
    feed_permit(uid, Status::ok());
  });
  publisher_.mark(Kind::pod, binding.pod->metadata.key());
  return {Code::wait, what_is_provisioned(binding)};
}

void Gateway::look_for_provisioned() {
  if (!std::exchange(volumes_changed_, false)) return;
  std::vector<std::string> waiting;
  for (const auto& [uid, binding] : bindings_) {
    if (binding.row.phase == Phase::none && !binding.journey().provisioning.empty()) waiting.push_back(uid);
  }
  if (waiting.empty()) return;
  scheduler_.refresh_snapshot();
  for (std::string_view uid : waiting) feed_permit(uid, Status::ok());
}

std::string Gateway::what_is_provisioned(const Binding& binding) {
  std::string claims;
  for (const std::string& key : binding.journey().provisioning) claims += (claims.empty() ? "" : ", ") + key;
  return "waiting for a provisioner to make volumes on node " + binding.row.node + " for " + claims;
}

// What was promised to the pod's claims and never written is free again. Upstream's waiting pods hear of that through
// the volume objects, which changed there.
void Gateway::wake_promised(const Binding& binding) {
  if (binding.pod == nullptr) return;
  for (const PodVolume& volume : binding.pod->volumes) {
    if (volume.claim_name.empty() && !volume.ephemeral) continue;
    return wake(*event_of(Kind::persistent_volume, kUpdate), {});
  }
}

}  // namespace berth
