#include "core/gateway/orders.h"

#include <algorithm>

#include "core/api/defaults.h"
#include "core/api/gated_update.h"
#include "core/api/packed.h"
#include "core/handshake/fields.h"
#include "core/objects/accepting.h"
#include "core/objects/reserved_labels.h"
#include "core/placement/retired.h"

namespace berth {

namespace {

constexpr std::size_t kMaxPodBytes = 56 * 1024;  // PreBind carries it whole in 64 KiB

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

template <class T>
bool keeps_all(const std::vector<T>& before, const std::vector<T>& after) {
  return std::all_of(before.begin(), before.end(),
                     [&](const T& item) { return std::find(after.begin(), after.end(), item) != after.end(); });
}

Status check_update(const PodEntry& entry, const Pod& next) {
  const Pod& before = *entry.pod;
  if (entry.deleting) return Status::error("the pod is being deleted; apply it again when it is gone");
  // A broker delivers its retained manifests at each connect: nearly all are what is known.
  if (before.shape == next.shape) return {};
  const bool is_gated = !before.scheduling_gates.get().empty();
  if (fixed_part(before.manifest().json(), is_gated) != fixed_part(next.manifest().json(), is_gated)) {
    return Status::error(
        "immutable: only labels, annotations, added tolerations and removed scheduling gates may change, and while it "
        "has gates, what narrows spec.nodeSelector and spec.affinity.nodeAffinity; "
        "delete and apply again (berthctl apply --recreate does both)");
  }
  if (is_gated) {
    if (Status allowed = check_gated_update(before, next); !allowed.is_success()) return allowed;
  }
  if (!keeps_all(before.tolerations.get(), next.tolerations.get())) {
    return Status::error("spec.tolerations: tolerations may be added, not removed; delete and apply again");
  }
  if (!keeps_all(next.scheduling_gates.get(), before.scheduling_gates.get())) {
    return Status::error("spec.schedulingGates: gates may be removed, not added; delete and apply again");
  }
  return {};
}

}  // namespace

Result<Accepted> Orders::apply(Kind kind, const Json& object, const std::string& expected_key, bool recreate) {
  if (!object.is_object()) return Status::error("expected a JSON object");
  switch (kind) {
    case Kind::pod: return apply_pod(object, expected_key, recreate);
    case Kind::node: return apply_node_overlay(object, expected_key);
    default: return placement_.objects().accept(kind, object, expected_key);
  }
}

Status Orders::admit_priority(Json& manifest) const {
  // kube-apiserver's priority admission plugin (plugin/pkg/admission/priority): the class sets the number.
  Json* spec = manifest.find("spec");
  if (spec == nullptr || !spec->is_object()) return Status::ok();  // the decoder reports it
  const Json* name = spec->find("priorityClassName");
  std::shared_ptr<const PriorityClass> chosen;
  if (name != nullptr && name->is_string() && !name->as_string().empty()) {
    chosen = context_.objects.find<PriorityClass>(name->as_string());
    if (chosen == nullptr) {
      return Status::error("spec.priorityClassName: no PriorityClass \"" + name->as_string() + "\"; apply it first");
    }
  } else if (spec->find("priority") == nullptr) {
    chosen = context_.objects.default_priority_class();
  }
  if (chosen == nullptr) return Status::ok();
  spec->set("priority", static_cast<std::int64_t>(chosen->value));
  if (!chosen->preemption_policy.empty() && spec->find("preemptionPolicy") == nullptr) {
    spec->set("preemptionPolicy", chosen->preemption_policy);
  }
  return Status::ok();
}

Result<Orders::Admitted> Orders::admit_pod(const Json& object, const std::string& expected_key, bool recreate) {
  Json manifest = as_accepted(Kind::pod, object);
  if (Status admitted = admit_priority(manifest); !admitted.is_success()) return admitted;
  manifest.erase("status");  // the gateway's own
  Warnings warnings;
  Result<Pod> decoded = decode_named<Pod>(decode_pod, manifest, expected_key, warnings);
  if (!decoded) return decoded.error();
  auto pod = std::make_shared<Pod>(std::move(*decoded));
  set_defaults(*pod);
  share_parts(*pod);
  const std::string key = pod->metadata.key();
  if (placement_.scheduler().framework_of(*pod) == nullptr) {
    return Status::error("spec.schedulerName: no profile \"" + pod->scheduler_name + "\" in this gateway");
  }
  const PodEntry* entry = context_.objects.pods().find(key);
  const bool same = entry != nullptr && (pod->uid().empty() || pod->uid() == entry->pod->uid()) && !recreate;
  if (pod->metadata.uid.empty()) {
    pod->metadata.uid = same ? entry->pod->uid() : Text(context_.random.hex_id());
    manifest.find("metadata")->set("uid", pod->metadata.uid.get());
    pod->set_manifest(manifest.dump());
  } else if (recreate && entry != nullptr && pod->uid() == entry->pod->uid()) {
    return Status::error("metadata.uid: a re-created pod needs another uid; leave it out");
  }
  if (Status allowed = check_pod(*pod, same ? entry : nullptr, key); !allowed.is_success()) return allowed;
  return Admitted{std::move(pod), same, std::move(warnings)};
}

// `same`: the pod that it updates; null: it is a new one.
Status Orders::check_pod(const Pod& pod, const PodEntry* same, const std::string& key) const {
  if (!is_valid_id(pod.metadata.uid)) {
    return Status::error("metadata.uid: \"" + pod.metadata.uid + "\" must be 1 to 128 letters, digits, '.', '_', '-'");
  }
  if (pod.manifest().text().size() > kMaxPodBytes) {
    return Status::error("the pod is larger than 56 KiB, more than PreBind can carry; move what is large to a volume");
  }
  if (same != nullptr) return check_update(*same, pod);
  if (const PodEntry* other = context_.objects.pods().find_by_uid(pod.uid())) {
    return Status::error("metadata.uid: \"" + pod.uid() + "\" is that of pod " + other->pod->metadata.key());
  }
  for (const auto& [other, waiting] : context_.objects.pods().names_awaited()) {
    if (other == key || waiting != pod.uid()) continue;
    return Status::error("metadata.uid: \"" + pod.uid() + "\" is that of pod " + other + ", which waits for its name");
  }
  return Status::ok();
}

Result<Accepted> Orders::apply_pod(const Json& object, const std::string& expected_key, bool recreate) {
  Result<Admitted> admitted = admit_pod(object, expected_key, recreate);
  if (!admitted) return admitted.error();
  const std::shared_ptr<Pod>& pod = admitted->pod;
  const std::string key = pod->metadata.key();
  PodEntry* entry = context_.objects.pods().find(key);
  if (admitted->known) {
    const bool changed = placement_.pods().update(*entry, pod);
    return Accepted{changed ? "updated" : "unchanged", key, pod->uid(), std::move(admitted->warnings)};
  }
  if (Status has = context_.admission.capacity(); !has.is_success()) return has;
  Accepted accepted{"created", key, pod->uid(), std::move(admitted->warnings)};
  if (entry == nullptr) {
    placement_.pods().create(pod);
    return accepted;
  }
  // Same name, another uid: delete, then create. The new pod waits until the old one's row is gone.
  accepted.result = "waiting";
  context_.mirror.past().remember_version(key, entry->successor.json(), pod->manifest().json());
  context_.objects.pods().set_successor(*entry, pod->manifest());
  context_.objects.pods().save(key);
  placement_.pods().remove(*entry);
  const PodEntry* now = context_.objects.pods().find(key);
  if (now != nullptr && now->pod->uid() == accepted.uid) accepted.result = "created";
  return accepted;
}

Result<Accepted> Orders::apply_node_overlay(const Json& object, const std::string& expected_key) {
  Warnings warnings;
  Result<Node> node = decode_named<Node>(decode_node, object, expected_key, warnings);
  if (!node) return node.error();
  const std::string name = node->metadata.name;
  if (const auto host = node->metadata.labels.find(std::string(kHostnameLabel));
      host != node->metadata.labels.end() && host->second != name) {
    return Status::error("metadata.labels[" + std::string(kHostnameLabel) + "]: is the node's name, \"" + name +
                         "\", got \"" + host->second + "\"; leave it out");
  }
  const Json* before = context_.objects.overlay(name);
  Accepted accepted{before == nullptr ? "created" : "updated", name, {}, std::move(warnings)};
  if (before != nullptr && *before == object) {
    accepted.result = "unchanged";
    return accepted;
  }
  context_.objects.put_overlay(name, object);
  context_.mirror.publish(Kind::node, name);
  context_.nodes.expect(name);
  if (context_.identity->adopting && !context_.mirror.barrier().is_synced() &&
      !is_retired(*context_.identity, context_.nodes, name)) {
    context_.identity.edit().adopt_nodes.insert(name);
  }
  placement_.nodes().refresh(name);
  return accepted;
}

Status Orders::remove(Kind kind, const std::string& key, const std::string& uid) {
  const std::string what = std::string(describe(kind).name) + " \"" + key + "\"";
  const Json manifest = context_.objects.manifest(kind, key);
  // The name may be another pod's by now; the workload is still that uid's.
  if (kind == Kind::pod && !uid.empty() && context_.objects.pods().find_by_uid(uid) == nullptr) {
    const bool released = placement_.releases().release_orphans(uid);
    if (context_.identity->adopting) context_.identity.insert(&Identity::deleted, uid);
    if (released) return Status::ok();
  }
  if (manifest.is_null()) return Status::error(what + " not found");
  if (PodEntry* entry = kind == Kind::pod ? context_.objects.pods().find(key) : nullptr; entry != nullptr) {
    // The pod that waits for the name goes too, unless the delete is meant for the old one only.
    const std::string waiting = uid_of(entry->successor.json());
    if (!waiting.empty() && (uid.empty() || uid == waiting)) {
      context_.mirror.past().remember_gone(key, entry->successor.json());
      context_.objects.pods().set_successor(*entry, {});
      context_.objects.pods().save(key);
      if (!uid.empty()) return Status::ok();
    }
  }
  const Json* metadata = manifest.find("metadata");
  const Json* own = metadata == nullptr ? nullptr : metadata->find("uid");
  if (!uid.empty() && (own == nullptr || *own != Json(uid))) {
    return Status::error(what + " with uid " + uid + " not found");
  }
  if (kind == Kind::pod) {
    placement_.pods().remove(*context_.objects.pods().find(key));
    return Status::ok();
  }
  if (kind == Kind::persistent_volume || kind == Kind::persistent_volume_claim) {
    placement_.volumes().begin_delete(kind, key);
    return Status::ok();
  }
  placement_.changes().erase(kind, key);
  if (kind == Kind::node) placement_.nodes().refresh(key);
  return Status::ok();
}

}  // namespace berth
