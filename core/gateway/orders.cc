#include "core/gateway/orders.h"

#include "core/api/workload.h"
#include "core/objects/accepting.h"
#include "core/objects/made_pods.h"
#include "core/objects/reserved_labels.h"
#include "core/placement/retired.h"

namespace berth {

Result<Accepted> Orders::apply(Kind kind, const Json& object, const std::string& expected_key, bool recreate) {
  if (!object.is_object()) return Status::error("expected a JSON object");
  switch (kind) {
    case Kind::pod: return apply_pod(object, expected_key, recreate);
    case Kind::node: return apply_node_overlay(object, expected_key);
    default: return apply_other(kind, object, expected_key);
  }
}

Result<Accepted> Orders::apply_other(Kind kind, const Json& object, const std::string& expected_key) {
  if (is_workload(kind)) return workloads_.accept(kind, object, expected_key);
  Result<Accepted> accepted = placement_.objects().accept(kind, object, expected_key);
  const bool is_volume = kind == Kind::persistent_volume || kind == Kind::persistent_volume_claim;
  if (is_volume && accepted && accepted->result != "unchanged") placement_.refusals().end_of_volumes();
  return accepted;
}

// A workload that holds the name is what the operator means, and this an update of it (P14).
std::optional<Json> Orders::with_uid_of_orphan(const Json& object) const {
  if (!uid_of(object).empty()) return std::nullopt;
  Json manifest = as_accepted(Kind::pod, object);
  const std::string key = key_of(Kind::pod, manifest);
  if (context_.objects.pods().find(key) != nullptr) return std::nullopt;
  for (const std::string& orphan : placement_.releases().orphans_named(key)) {
    const ReleaseEntry& entry = placement_.state().releases.at(orphan).entry;
    if (!entry.holds_name) continue;
    object_at(manifest, "metadata")->set("uid", entry.uid);
    return manifest;
  }
  return std::nullopt;
}

Result<Accepted> Orders::apply_pod(const Json& object, const std::string& expected_key, bool recreate) {
  const std::optional<Json> named = recreate ? std::nullopt : with_uid_of_orphan(object);
  Json manifest = named ? *named : object;
  drop_made_here(manifest);
  Result<PodAdmission::Admitted> admitted = placement_.pod_admission().admit(manifest, expected_key, recreate);
  if (!admitted) return admitted.error();
  const CountedPtr<Pod>& pod = admitted->pod;
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
  context_.mirror.past().remember_version(key, entry->extras().successor.json(), pod->manifest().json());
  context_.objects.pods().set_successor(*entry, pod->manifest());
  context_.objects.pods().save(key);
  placement_.pods().remove(*entry);
  const PodEntry* now = context_.objects.pods().find(key);
  if (now != nullptr && now->pod->uid() == accepted.uid) accepted.result = "created";
  return accepted;
}

Result<Accepted> Orders::check(Kind kind, const Json& object) {
  if (is_workload(kind)) return workloads_.check(kind, object);
  return kind == Kind::node ? check_node_overlay(object, {}) : placement_.objects().check(kind, object);
}

Result<Accepted> Orders::check_node_overlay(const Json& object, const std::string& expected_key) const {
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
  if (before != nullptr && *before == object) accepted.result = "unchanged";
  return accepted;
}

Result<Accepted> Orders::apply_node_overlay(const Json& object, const std::string& expected_key) {
  Result<Accepted> accepted = check_node_overlay(object, expected_key);
  if (!accepted || accepted->result == "unchanged") return accepted;
  const std::string& name = accepted->key;
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

// Nodes that have not answered yet may run it.
void Orders::note_deleted(const std::string& uid_or_key) {
  constexpr std::size_t kMax = 100;  // each is written with the others
  const Identity& identity = *context_.identity;
  if (!identity.adopting && identity.late.empty()) return;
  if (identity.deleted.size() < kMax) context_.identity.insert(&Identity::deleted, uid_or_key);
}

std::string Orders::why_unknown(Kind kind) const {
  const Identity& identity = *context_.identity;
  const std::set<std::string>& nodes = identity.adopting ? identity.adopt_nodes : identity.late;
  if (kind != Kind::pod || nodes.empty()) return {};
  std::string text;
  for (const std::string& node : nodes) text += (text.empty() ? "" : ", ") + node;
  return "; what these nodes run is not known yet, and is ended if it has that name: " + text;
}

Status Orders::remove(Kind kind, const std::string& key, const std::string& uid, Propagation propagation) {
  const std::string what = std::string(describe(kind).name) + " \"" + key + "\"";
  const Json manifest = context_.objects.manifest(kind, key);
  // The name may be another pod's by now; the workload is still that uid's.
  if (kind == Kind::pod && !uid.empty() && context_.objects.pods().find_by_uid(uid) == nullptr) {
    const bool released = placement_.releases().release_orphans(uid);
    note_deleted(uid);
    if (released) return Status::ok();
  }
  // By name alone, all of that name is meant.
  if (kind == Kind::pod && uid.empty()) {
    const std::vector<std::string> orphans = placement_.releases().orphans_named(key);
    for (const std::string& orphan : orphans) placement_.releases().release_orphan(orphan);
    note_deleted(key);
    if (!orphans.empty() && manifest.is_null()) return Status::ok();
  }
  if (kind == Kind::persistent_volume && manifest.is_null()) {
    const std::vector<OrphanVolumes::Orphan> orphans = placement_.orphan_volumes().named(key);
    if (orphans.size() > 1) return Status::error(what + " is an orphan on several nodes: keep one with adopt --node");
    if (!orphans.empty()) return placement_.orphan_volumes().keep(orphans.front(), "Delete");
  }
  if (manifest.is_null()) return Status::error(what + " not found" + why_unknown(kind));
  if (PodEntry* entry = kind == Kind::pod ? context_.objects.pods().find(key) : nullptr; entry != nullptr) {
    // The pod that waits for the name goes too, unless the delete is meant for the old one only.
    const std::string waiting = uid_of(entry->extras().successor.json());
    if (!waiting.empty() && (uid.empty() || uid == waiting)) {
      context_.mirror.past().remember_gone(key, entry->extras().successor.json());
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
  if (is_workload(kind)) return workloads_.remove(kind, key, propagation);
  placement_.changes().erase(kind, key);
  if (kind == Kind::node) placement_.nodes().refresh(key);
  return Status::ok();
}

}  // namespace berth
