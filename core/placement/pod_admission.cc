#include "core/placement/pod_admission.h"

#include <algorithm>
#include <utility>

#include "core/api/config_refs.h"
#include "core/api/defaults.h"
#include "core/api/gated_update.h"
#include "core/api/packed.h"
#include "core/handshake/fields.h"
#include "core/json/members.h"
#include "core/objects/accepting.h"
#include "core/objects/look_ups.h"
#include "core/objects/made_pods.h"
#include "core/placement/ephemeral_claims.h"

namespace berth {

namespace {

constexpr std::size_t kMaxPodBytes = 56 * 1024;  // PreBind carries it whole in 64 KiB

// PreBind names them all.
Status check_config_names(const Pod& pod) {
  const Manifest manifest = pod.manifest();
  if (!may_have_config_names(manifest.text())) return Status::ok();
  const std::vector<ConfigName> names = config_names_of(manifest.json());
  std::size_t bytes = 0;
  for (const ConfigName& name : names) bytes += name.name.size();
  if (names.size() <= kConfigNamesMax && bytes <= kConfigNameBytesMax) return Status::ok();
  return Status::error("spec: refers to " + std::to_string(names.size()) + " ConfigMaps and Secrets, by names of " +
                       std::to_string(bytes) + " bytes; must be at most " + std::to_string(kConfigNamesMax) + ", and " +
                       std::to_string(kConfigNameBytesMax) + " bytes");
}

void erase_node_affinity(Json& spec) {
  Json* affinity = object_at(spec, "affinity");
  if (affinity == nullptr) return;
  affinity->erase("nodeAffinity");
  if (affinity->as_object().empty()) spec.erase("affinity");
}

// The manifest without what may change after a pod is accepted: labels, annotations, tolerations, gates, status, uid;
// of a gated one also which nodes it asks for.
Json fixed_part(Json fixed, bool is_gated) {
  fixed.erase("status");
  if (Json* metadata = fixed.find("metadata")) {
    for (std::string_view key :
         {"labels", "annotations", "uid", "resourceVersion", "generation", "creationTimestamp"}) {
      metadata->erase(key);
    }
  }
  if (Json* spec = fixed.find("spec")) {
    for (std::string_view key : {"tolerations", "schedulingGates", "priority", "nodeName"}) spec->erase(key);
    if (is_gated) {
      spec->erase("nodeSelector");
      erase_node_affinity(*spec);
    }
  }
  return fixed;
}

// What is not the operator's to say of a pod that a controller has.
void keep_owners(Json& manifest, const Pod& before) {
  if (before.metadata.controller_uid.empty() && !is_made_here(before)) return;
  Json* mine = object_at(manifest, "metadata");
  if (mine == nullptr) return;
  const Json known = before.manifest().json();
  for (const std::string_view key : {"ownerReferences", "finalizers", "managedFields"}) {
    const Json& value = member(member(known, "metadata"), key);
    if (mine->find(key) == nullptr && !value.is_null()) mine->set(key, value);
  }
}

template <class T>
bool keeps_all(const std::vector<T>& before, const std::vector<T>& after) {
  return std::all_of(before.begin(), before.end(),
                     [&](const T& item) { return std::find(after.begin(), after.end(), item) != after.end(); });
}

Status check_update(const Pod& before, const Pod& next) {
  // A broker delivers its retained manifests at each connect: nearly all are what is known.
  if (before.shape == next.shape) return {};
  const bool is_gated = !before.spec->scheduling_gates.get().empty();
  if (fixed_part(before.manifest().json(), is_gated) != fixed_part(next.manifest().json(), is_gated)) {
    return Status::error(
        "immutable: only labels, annotations, added tolerations and removed scheduling gates may change, and while it "
        "has gates, what narrows spec.nodeSelector and spec.affinity.nodeAffinity; "
        "delete and apply again (berthctl apply --recreate does both)");
  }
  if (is_gated) {
    if (Status allowed = check_gated_update(before, next); !allowed.is_success()) return allowed;
  }
  if (!keeps_all(before.spec->tolerations.get(), next.spec->tolerations.get())) {
    return Status::error("spec.tolerations: tolerations may be added, not removed; delete and apply again");
  }
  if (!keeps_all(next.spec->scheduling_gates.get(), before.spec->scheduling_gates.get())) {
    return Status::error("spec.schedulingGates: gates may be removed, not added; delete and apply again");
  }
  return {};
}

}  // namespace

Status PodAdmission::admit_priority(Json& manifest) const {
  // kube-apiserver's priority admission plugin (plugin/pkg/admission/priority): the class sets the number.
  Json* spec = manifest.find("spec");
  if (spec == nullptr || !spec->is_object()) return Status::ok();  // the decoder reports it
  const Json* name = spec->find("priorityClassName");
  std::shared_ptr<const PriorityClass> chosen;
  if (name != nullptr && name->is_string() && !name->as_string().empty()) {
    chosen = find_priority_class(context_.objects, name->as_string());
    if (chosen == nullptr) {
      return Status::error("spec.priorityClassName: no PriorityClass \"" + name->as_string() + "\"; apply it first");
    }
  } else if (spec->find("priority") == nullptr) {
    chosen = default_priority_class(context_.objects);
  }
  if (chosen == nullptr) return Status::ok();
  spec->set("priority", static_cast<std::int64_t>(chosen->value));
  if (!chosen->preemption_policy.empty() && spec->find("preemptionPolicy") == nullptr) {
    spec->set("preemptionPolicy", chosen->preemption_policy);
  }
  return Status::ok();
}

Result<PodAdmission::Admitted> PodAdmission::admit(const Json& object, const std::string& expected_key,
                                                   bool recreate) const {
  Json manifest = as_accepted(Kind::pod, object);
  if (Status admitted = admit_priority(manifest); !admitted.is_success()) return admitted;
  manifest.erase("status");  // the gateway's own
  const PodEntry* entry = context_.objects.pods().find(key_of(Kind::pod, manifest));
  if (entry != nullptr && !recreate) keep_owners(manifest, *entry->pod);
  Warnings warnings;
  Result<Pod> decoded = decode_named<Pod>(decode_pod, manifest, expected_key, warnings);
  if (!decoded) return decoded.error();
  auto pod = make_counted<Pod>(std::move(*decoded));
  set_defaults(*pod);
  share_parts(*pod);
  const std::string key = pod->metadata.key();
  if (!has_profile(*pod)) {
    return Status::error("spec.schedulerName: no profile \"" + pod->spec->scheduler_name + "\" in this gateway");
  }
  const bool same = entry != nullptr && (pod->uid().empty() || pod->uid() == entry->pod->uid()) && !recreate;
  if (pod->metadata.uid.empty()) {
    pod->metadata.uid = same ? entry->pod->uid() : Text(context_.random.hex_id());
    manifest.find("metadata")->set("uid", pod->metadata.uid.get());
    pod->set_manifest(manifest.dump());
  } else if (recreate && entry != nullptr && pod->uid() == entry->pod->uid()) {
    return Status::error("metadata.uid: a re-created pod needs another uid; leave it out");
  }
  if (Status allowed = check_pod(*pod, same ? entry : nullptr, key); !allowed.is_success()) return allowed;
  Admitted admitted{std::move(pod), same, std::move(warnings), {}};
  if (same) return admitted;
  Result<std::vector<PersistentVolumeClaim>> claims = claims_of_templates(*admitted.pod);
  if (!claims) return claims.error();
  admitted.claims = std::move(*claims);
  for (PersistentVolumeClaim& claim : admitted.claims) {
    const auto storage_class = default_storage_class(context_.objects);
    if (!claim.storage_class_name && storage_class) claim.storage_class_name = storage_class->metadata.name;
  }
  return admitted;
}

// `same`: the pod that it updates; null: it is a new one.
Status PodAdmission::check_pod(const Pod& pod, const PodEntry* same, const std::string& key) const {
  if (!is_valid_id(pod.metadata.uid)) {
    return Status::error("metadata.uid: \"" + pod.metadata.uid + "\" must be 1 to 128 letters, digits, '.', '_', '-'");
  }
  if (pod.manifest().text().size() > kMaxPodBytes) {
    return Status::error("the pod is larger than 56 KiB, more than PreBind can carry; move what is large to a volume");
  }
  if (Status named = check_config_names(pod); !named.is_success()) return named;
  if (same != nullptr && same->deleting) {
    return Status::error("the pod is being deleted; apply it again when it is gone");
  }
  if (same != nullptr) return check_update(*same->pod, pod);
  if (const PodEntry* other = context_.objects.pods().find_by_uid(pod.uid())) {
    return Status::error("metadata.uid: \"" + pod.uid() + "\" is that of pod " + other->pod->metadata.key());
  }
  for (const auto& [other, waiting] : context_.objects.pods().names_awaited()) {
    if (other == key || waiting != pod.uid()) continue;
    return Status::error("metadata.uid: \"" + pod.uid() + "\" is that of pod " + other + ", which waits for its name");
  }
  return Status::ok();
}

Result<CountedPtr<Pod>> PodAdmission::admit_found(const SlotReport& slot) const {
  const Result<Json> held = Json::parse(slot.pod);
  if (!held) return held.error();
  Json manifest = as_accepted(Kind::pod, *held);
  // Its class may be lost as well, and the number that it had is in the manifest.
  (void)admit_priority(manifest);
  manifest.erase("status");
  Json* metadata = object_at(manifest, "metadata");
  if (metadata == nullptr) return Status::error("metadata: is missing");
  if (const std::string said = uid_of(manifest); !said.empty() && said != slot.uid) {
    return Status::error("metadata.uid: \"" + said + "\" is not that of the slot, \"" + slot.uid + "\"");
  }
  metadata->set("uid", slot.uid);
  Warnings warnings;
  Result<Pod> decoded = decode_named<Pod>(decode_pod, manifest, {}, warnings);
  if (!decoded) return decoded.error();
  auto pod = make_counted<Pod>(std::move(*decoded));
  set_defaults(*pod);
  share_parts(*pod);
  if (!has_profile(*pod)) {
    return Status::error("spec.schedulerName: no profile \"" + pod->spec->scheduler_name + "\" in this gateway");
  }
  if (Status allowed = check_pod(*pod, nullptr, pod->metadata.key()); !allowed.is_success()) return allowed;
  return pod;
}

Result<CountedPtr<Pod>> PodAdmission::update_found(const Pod& found, const Pod& applied) const {
  Json manifest = applied.manifest().json();
  if (Json* metadata = object_at(manifest, "metadata")) metadata->set("uid", found.uid().get());
  Result<Pod> decoded = decode_accepted_pod(manifest);
  if (!decoded) return decoded.error();
  auto next = make_counted<Pod>(std::move(*decoded));
  if (Status allowed = check_update(found, *next); !allowed.is_success()) return allowed;
  return next;
}

}  // namespace berth
