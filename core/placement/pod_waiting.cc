// What a pod that has a node, and no row yet, waits for: Permit, its turn at a busy node, and provisioners of its
// claims (kube-scheduler volumebinding/binder.go BindPodVolumes). Nothing of it is durable but the annotation of the
// claims, by which the pod is decided for the same node again after a restart.
#include <utility>

#include "core/objects/object_events.h"
#include "core/objects/volume_bindings.h"
#include "core/placement/pod_lifecycle.h"

namespace berth {

namespace {

// False too of a pod that has ended since, or was decided again for another node.
bool is_deferred(const PlacementState& state, const std::string& node, std::string_view uid) {
  const Binding* binding = state.find(uid);
  return binding != nullptr && binding->progress().deferred && binding->row.node == node;
}

}  // namespace

void PodLifecycle::feed_permit(std::string_view uid, Status status) {
  Binding* binding = state_.find(uid);
  if (binding == nullptr || binding->row.phase != Phase::none) return;
  binding->edit().permitted.push(std::move(status));
  reap(uid);
}

void PodLifecycle::give_up_waiting(std::string_view uid, const std::string& permit_reason, const std::string& reason) {
  // A pod that waits for a provisioner or for its node is not among the waiting pods.
  if (!scheduler_.waiting_pods().reject(uid, "", permit_reason)) feed_permit(uid, Status::error(reason));
}

void PodLifecycle::deliver_permits() {
  WaitingPods& waiting = scheduler_.waiting_pods();
  for (auto decided = waiting.take_decided(); !decided.empty(); decided = waiting.take_decided()) {
    for (auto& [uid, status] : decided) feed_permit(uid, std::move(status));
  }
  context_.timers.cancel(permit_timer_);
  if (const std::optional<Millis> next = waiting.next_deadline()) {
    permit_timer_ = context_.timers.at(*next, [this] {
      permit_timer_ = 0;
      scheduler_.waiting_pods().expire(context_.clock.now());
      deliver_permits();
    });
  }
}

// Nothing is durable of it: after a restart the pod is decided again.
Status PodLifecycle::defer(Binding& binding) {
  window_.defer(binding.row.node, binding.row.uid,
                [this](const std::string& node, std::string_view uid) { return is_deferred(state_, node, uid); });
  context_.publisher.mark(Kind::pod, binding.pod->metadata.key());
  Status busy(Code::wait, "node " + binding.row.node + " is asked when it has answered for others");
  if (std::exchange(binding.edit().deferred, true)) return busy;
  context_.timers.cancel(binding.edit().deadline);
  const Millis limit = context_.options.promise_ms;
  binding.edit().deadline = context_.timers.at(context_.clock.now() + limit, [this, limit, uid = binding.row.uid] {
    Binding& late = state_.bindings.at(uid);
    late.edit().deadline = 0;
    feed_permit(uid, Status::error("node " + late.row.node + " did not answer for the pods before it in " +
                                   std::to_string(limit / 1000) + " s"));
  });
  return busy;
}

void PodLifecycle::begin_deferred() {
  if (context_.identity->adopting) {
    // What was decided before does not count: the pod may run where the listings will show.
    for (const auto& [node, uids] : window_.take_deferred()) {
      for (std::string_view uid : uids) {
        const Binding* binding = state_.find(uid);
        if (binding != nullptr && binding->progress().deferred) {
          feed_permit(uid, Status::error(std::string(kRecoveringStore)));
        }
      }
    }
  }
  for (const std::string& node : window_.take_answered()) {
    for (std::string uid = window_.next_deferred(node); !uid.empty(); uid = window_.next_deferred(node)) {
      if (is_deferred(state_, node, uid)) feed_permit(uid, Status::ok());
    }
  }
}

Status PodLifecycle::await_provisioners(Binding& binding, Millis again_at) {
  for (const std::string& key : binding.progress().request.provision) {
    EventObjects objects;
    note_old(objects, context_.objects, Kind::persistent_volume_claim, key);
    if (!VolumeBindings(context_.objects).select_node(key, binding.row.node)) continue;
    note_new(objects, context_.objects, Kind::persistent_volume_claim, key);
    context_.events.record({Kind::persistent_volume_claim,
                            key,
                            "Normal",
                            "ExternalProvisioning",
                            "Waiting for a volume to be created on node " + std::string(binding.row.node) +
                                " by the provisioner of the claim's class",
                            {}});
    context_.publisher.mirror(Kind::persistent_volume_claim, key);
    context_.publisher.mark(Kind::persistent_volume_claim, key);
    changes_.wake(*event_of(Kind::persistent_volume_claim, kUpdate), objects);
  }
  binding.edit().deadline = context_.timers.at(again_at, [this, uid = binding.row.uid] {
    state_.bindings.find(uid)->second.edit().deadline = 0;
    feed_permit(uid, Status::ok());
  });
  context_.publisher.mark(Kind::pod, binding.pod->metadata.key());
  return {Code::wait, provisioning_of(binding)};
}

void PodLifecycle::retry_provisioned() {
  if (!changes_.take_volumes_changed()) return;
  std::vector<std::string> waiting;
  for (const auto& [uid, binding] : state_.bindings) {
    if (binding.row.phase == Phase::none && !binding.progress().request.provision.empty()) waiting.push_back(uid);
  }
  if (waiting.empty()) return;
  scheduler_.refresh_snapshot();
  for (std::string_view uid : waiting) feed_permit(uid, Status::ok());
}

std::string provisioning_of(const Binding& binding) {
  std::string claims;
  for (const std::string& key : binding.progress().request.provision) claims += (claims.empty() ? "" : ", ") + key;
  return "waiting for a provisioner to make volumes on node " + binding.row.node + " for " + claims;
}

}  // namespace berth
