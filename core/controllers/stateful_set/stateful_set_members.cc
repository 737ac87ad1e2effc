#include "core/controllers/stateful_set/stateful_set_members.h"

#include <utility>

#include "core/controllers/pod_control.h"
#include "core/controllers/stateful_set/stateful_set_events.h"

namespace berth {

SetMemberActions::Deletion SetMemberActions::remove(const SetMember& member) {
  const std::string& name = member.pod->metadata.name;
  const WriteResult deleted = cluster_.remove(*member.pod, {});
  Deletion deletion;
  deletion.is_gone = deleted.code == WriteResult::Code::not_found;
  if (deletion.is_gone) {
    deletion.status = Status::error("pods \"" + name + "\" not found");
  } else if (!deleted.is_done()) {
    deletion.status = Status::error(deleted.message);
  }
  record_pod_event(cluster_, set_, "Delete", name, deletion.status);
  return deletion;
}

// With Parallel, in batches of 1, 2, 4 ... until one has an error, and no step stops what follows.
SetMemberActions::Step SetMemberActions::run_for_all(const std::vector<SetMember>& members,
                                                     const std::function<Step(const SetMember&)>& run) {
  if (set_.spec.parallel) {
    auto next = members.begin();
    return {slow_start(static_cast<int>(members.size()), [&] { return run(*next++).status; })};
  }
  for (const SetMember& member : members) {
    Step step = run(member);
    if (step.stops || !step.status.is_success()) return step;
  }
  return {};
}

SetMemberActions::Step SetMemberActions::scale(const SetMembers& members, const ControlledPod* first_unavailable) {
  Step step = run_for_all(members.replicas, [&](const SetMember& replica) { return process_replica(replica); });
  if (step.stops || !step.status.is_success()) return step;
  step = run_for_all(members.condemned, [&](const SetMember& condemned) { return hand_over_claims(condemned); });
  if (step.stops || !step.status.is_success()) return step;
  return run_for_all(members.condemned,
                     [&](const SetMember& condemned) { return process_condemned(condemned, first_unavailable); });
}

// A pod that ran to its end is deleted, whatever its exit code, and comes back when it is gone.
SetMemberActions::Step SetMemberActions::process_replica(const SetMember& replica) {
  const ControlledPod& pod = *replica.pod;
  const bool ordered = !set_.spec.parallel;
  if (is_finished(pod)) return {pod.metadata.deletion ? Status::ok() : remove(replica).status, true};
  if (!replica.is_created) {
    if (claims_.is_stale(replica)) return {Status::ok(), true};
    const Status created = create(replica);
    if (!created.is_success() || ordered) return {created, true};
  } else if (pod.phase == PodPhase::pending) {
    Status pending = claims_.create_missing(replica);
    if (pending.is_success()) pending = keep_claims(replica);
    if (!pending.is_success()) return {pending, true};
  }
  if (ordered && is_unavailable(set_, pod, cluster_.now())) return {Status::ok(), true};
  return {repair(replica)};
}

Status SetMemberActions::create(const SetMember& missing) {
  const std::string& name = missing.pod->metadata.name;
  Status status = claims_.create_missing(missing);
  if (!status.is_success()) {
    record_pod_event(cluster_, set_, "Create", name, status);
    return status;
  }
  const WriteResult created =
      cluster_.create(ControlledPod::kKind, set_.metadata.namespace_, member_manifest(set_, revisions_, missing));
  if (!created.is_done()) status = Status::error(created.message);
  if (created.code == WriteResult::Code::already_exists) return status;
  if (Status kept = keep_claims(missing); !kept.is_success()) return kept;
  record_pod_event(cluster_, set_, "Create", name, status);
  return status;
}

Status SetMemberActions::keep_claims(const SetMember& replica) {
  Status status = claims_.apply_retention(replica).status;
  if (!status.is_success()) record_pod_event(cluster_, set_, "Update", replica.pod->metadata.name, status);
  return status;
}

SetMemberActions::Step SetMemberActions::hand_over_claims(const SetMember& condemned) {
  if (claims_.match_retention(condemned)) return {};
  return {claims_.apply_retention(condemned).status};
}

SetMemberActions::Step SetMemberActions::process_condemned(const SetMember& condemned,
                                                           const ControlledPod* first_unavailable) {
  const ControlledPod& pod = *condemned.pod;
  const bool ordered = !set_.spec.parallel;
  if (pod.metadata.deletion) return {Status::ok(), ordered};
  if (ordered && is_unavailable(set_, pod, cluster_.now()) && &pod != first_unavailable) return {Status::ok(), true};
  return {remove(condemned).status, true};
}

// Upstream tries again after a conflict, with the claim as it is then, and finds nothing left to do: the event stays.
Status SetMemberActions::repair(const SetMember& replica) {
  const ControlledPod& pod = *replica.pod;
  const std::string& name = pod.metadata.name;
  const bool matches = claims_.match_retention(replica);
  if (has_identity(pod) && has_claims(set_, replica) && matches) return Status::ok();
  Status status;
  if (!has_claims(set_, replica)) {
    status = claims_.create_missing(replica);
    // The volumes of a pod cannot be changed.
    if (status.is_success()) status = Status::error("Pod \"" + name + "\" lacks the volumes of its claims");
  }
  StatefulSetClaims::WriteOutcome kept;
  if (status.is_success() && !matches) kept = claims_.apply_retention(replica);
  if (status.is_success()) status = kept.status;
  if (status.is_success() && !has_identity(pod)) {
    Json metadata = Json::object().set("labels", to_json(identity_labels(set_, replica.ordinal)));
    const WriteResult written = cluster_.patch(pod, Json::object().set("metadata", std::move(metadata)));
    if (!written.is_done()) status = Status::error(written.message);
  }
  record_pod_event(cluster_, set_, "Update", name, status);
  return kept.written == StatefulSetClaims::Written::conflict ? Status::ok() : status;
}

}  // namespace berth
