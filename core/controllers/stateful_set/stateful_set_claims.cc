#include "core/controllers/stateful_set/stateful_set_claims.h"

#include <utility>

#include "core/controllers/stateful_set/claim_retention.h"
#include "core/controllers/stateful_set/stateful_set_events.h"
#include "core/json/members.h"

namespace berth {
namespace {

Json claim_manifest(const StatefulSet& set, const ClaimTemplate& claim, std::string_view name) {
  Json manifest = claim.json.get();
  for (const std::string_view key : {"apiVersion", "kind", "status"}) manifest.erase(key);
  Json metadata = member(manifest, "metadata");
  Json labels = member(metadata, "labels");
  for (const auto& [key, value] : set.spec.match_labels) labels.set(key, value);
  metadata.set("name", name);
  if (labels.is_object()) metadata.set("labels", std::move(labels));
  manifest.set("metadata", std::move(metadata));
  return manifest;
}

// As one error; the errors' texts are in the order of the claims.
void add_error(Status& status, std::string text) {
  if (status.is_success()) {
    status = Status::error(std::move(text));
  } else {
    status.add_reason(std::move(text));
  }
}

}  // namespace

ObjectPtr StatefulSetClaims::find(const std::string& name) {
  const auto found = seen_.find(name);
  if (found != seen_.end()) return found->second;
  ObjectPtr claim = cluster_.find(kPersistentVolumeClaim, {std::string(set_.metadata.namespace_), name});
  return seen_.emplace(name, std::move(claim)).first->second;
}

Status StatefulSetClaims::create(const ClaimTemplate& claim, const SetMember& replica) {
  const std::string name = claim_name(set_, claim, replica.ordinal);
  const WriteResult written =
      cluster_.create(kPersistentVolumeClaim, set_.metadata.namespace_, claim_manifest(set_, claim, name));
  const Status status = written.is_done() ? Status::ok() : Status::error(written.message);
  if (written.code != WriteResult::Code::already_exists) {
    record_claim_event(cluster_, set_, name, replica.pod->metadata.name, status);
  }
  return written.is_done() ? status : Status::error("failed to create PVC " + name + ": " + written.message);
}

Status StatefulSetClaims::create_missing(const SetMember& replica) {
  Status status;
  for (const ClaimTemplate& claim : set_.spec.claim_templates) {
    const std::string name = claim_name(set_, claim, replica.ordinal);
    const ObjectPtr existing = find(name);
    if (existing == nullptr) {
      if (const Status created = create(claim, replica); !created.is_success()) add_error(status, created.message());
    } else if (existing->metadata.deletion) {
      add_error(status, "pvc " + name + " is being deleted");
    }
  }
  return status;
}

bool StatefulSetClaims::match_retention(const SetMember& replica) {
  for (const ClaimTemplate& claim : set_.spec.claim_templates) {
    const ObjectPtr existing = find(claim_name(set_, claim, replica.ordinal));
    if (existing != nullptr && !has_wanted_owners(*existing, set_, replica)) return false;
  }
  return true;
}

StatefulSetClaims::WriteOutcome StatefulSetClaims::apply_retention(const SetMember& replica) {
  for (const ClaimTemplate& claim : set_.spec.claim_templates) {
    const std::string name = claim_name(set_, claim, replica.ordinal);
    const ObjectPtr existing = find(name);
    if (existing == nullptr) continue;
    if (has_foreign_controller(*existing, set_, *replica.pod)) {
      cluster_.record(set_, {WorkloadEvent::Type::warning, "ConflictingController",
                             "PersistentVolumeClaim " + name +
                                 " has a conflicting OwnerReference that acts as a managing controller, the retention "
                                 "policy is ignored for this claim"});
    }
    if (has_wanted_owners(*existing, set_, replica)) continue;
    const std::string failure = "could not update claim " + name + " for delete policy ownerRefs: ";
    if (!written_.insert(name).second) {
      return {Written::conflict, Status::error(failure + "Operation cannot be fulfilled on persistentvolumeclaims \"" +
                                               name + "\": the object has been modified")};
    }
    const std::vector<OwnerReference> owners = wanted_owners(*existing, set_, replica);
    Json metadata = Json::object().set("ownerReferences", owners.empty() ? Json() : to_json(owners));
    const WriteResult written = cluster_.patch(*existing, Json::object().set("metadata", std::move(metadata)));
    if (!written.is_done()) return {Written::failed, Status::error(failure + written.message)};
  }
  return {};
}

bool StatefulSetClaims::is_stale(const SetMember& replica) {
  if (!set_.spec.claim_retention.deletes_when_scaled) return false;
  for (const ClaimTemplate& claim : set_.spec.claim_templates) {
    const ObjectPtr existing = find(claim_name(set_, claim, replica.ordinal));
    if (existing != nullptr && has_stale_owner(*existing, *replica.pod, "v1")) return true;
  }
  return false;
}

}  // namespace berth
