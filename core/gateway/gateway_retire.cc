// `node forget` (rules.md P9): the operator's word that a device is gone for good. What it held ends without proof;
// should it return all the same, it is first cleared of everything, and gets no pod before that.
//
// A retired name is "<node>/<incarnation>", or "<node>/" when the incarnation was never heard: then whichever returns
// first. It stays on flash until a complete listing of that incarnation has come, every slot of which is released. The
// listing was asked for with a floor above every epoch the node ever had, since its rows and release entries went with
// the forgetting: so the node that answers has taken that floor in, durably, and nothing late can start anything there.
#include "core/gateway/gateway.h"

namespace berth {

namespace {

// What becomes of a claim whose volume was on a forgotten node: annotation of the claim.
constexpr std::string_view kOrphanPolicy = "berth/orphan-policy";
constexpr std::string_view kRelease = "Release";  // anything else, or none, is Retain

bool is_offered_by(const PersistentVolume& volume, const std::string& node) {
  const auto found = volume.metadata.annotations.find(std::string(kOfferedBy));
  return found != volume.metadata.annotations.end() && found->second == node;
}

}  // namespace

bool Gateway::is_retired(const std::string& node, const std::string& incarnation) const {
  const auto& retired = identity_.retired;
  if (retired.empty()) return false;
  if (!incarnation.empty()) return retired.contains(node + "/" + incarnation) || retired.contains(node + "/");
  const auto first = retired.lower_bound(node + "/");
  return first != retired.end() && first->starts_with(node + "/");
}

bool Gateway::is_retired(const std::string& node) const {
  const auto known = nodes_.all().find(node);
  return is_retired(node, known == nodes_.all().end() ? std::string() : known->second.incarnation);
}

Status Gateway::retire_node(const std::string& node) {
  std::set<std::string> incarnations;
  const DeviceNode* device = nodes_.find(node);
  if (device != nullptr && !device->incarnation.empty()) incarnations.insert(device->incarnation);
  std::vector<std::string> uids, entries;
  for (const auto& [uid, binding] : bindings_) {
    if (binding.row.node != node) continue;
    uids.push_back(uid);
    if (binding.row.phase != Phase::none) incarnations.insert(binding.row.incarnation);
  }
  for (const auto& [key, release] : releases_) {
    if (release.entry.node != node) continue;
    entries.push_back(key);
    incarnations.insert(release.entry.incarnation);
  }
  const bool known = device != nullptr || !uids.empty() || !entries.empty() || identity_.adopt_nodes.contains(node);
  if (!known) return Status::error("Node \"" + node + "\" not found");
  // In adopt mode what was heard of it may be older than what it is: whichever incarnation returns is meant.
  if (incarnations.empty() || identity_.adopting) incarnations.insert("");
  for (const std::string& incarnation : incarnations) identity_.retired.insert(node + "/" + incarnation);
  identity_changed_ = true;
  log_.write(Level::warn, "node forgotten",
             {{"node", node}, {"rows", std::to_string(uids.size())}, {"releases", std::to_string(entries.size())}});

  drop_node(node);
  for (std::string_view uid : uids) retire_row(uid, node);
  deliver_permits();
  for (const std::string& key : entries) end_release(key);
  orphan_volumes(node);
  if (objects_.overlay(node) != nullptr) erase_other(Kind::node, node);
  // After the rows: pods that adopt mode kept from being placed or erased follow.
  if (identity_.adopt_nodes.erase(node) > 0 && synced_) adopted(node);
  return Status::ok();
}

// Out of everything that knows it as a node.
void Gateway::drop_node(const std::string& node) {
  if (auto found = listings_.find(node); found != listings_.end()) {
    timers_.cancel(found->second.resend);
    listings_.erase(found);
  }
  unreported_.erase(node);
  compared_.erase(node);
  adopted_.erase(node);
  const DeviceNode* device = nodes_.find(node);
  EventObjects objects;
  objects.old_node = device == nullptr ? nullptr : device->node;
  nodes_.erase(node);
  cache_.remove_node(node);
  publisher_.mark(Kind::node, node);
  if (objects.old_node != nullptr) wake({EventResource::node, kDelete, "NodeDelete"}, objects);
}

void Gateway::retire_row(std::string_view uid, const std::string& node) {
  auto found = bindings_.find(uid);
  if (found == bindings_.end()) return;
  Binding& binding = found->second;
  binding.edit().reason = "node " + node + " was forgotten";
  if (binding.row.phase != Phase::none) return feed(uid, RowEvent::forget);
  // One that waits for a provisioner, not on Permit, hears of it alone.
  const bool on_permit = scheduler_.waiting_pods().reject(uid, "", binding.journey().reason);
  if (!on_permit) feed_permit(uid, Status::error(binding.journey().reason));
}

// Volumes on the node's own disk: one that nobody claims is offered no more; of a claimed one the claim says what
// follows. With Retain (the default) claim and volume stay as they are, and pods that use them wait for the operator or
// for the node. With Release the data is given up: the claim may be bound anew, elsewhere.
void Gateway::orphan_volumes(const std::string& node) {
  for (const std::string& name : objects_.keys(Kind::persistent_volume)) {
    const auto volume = objects_.volume(name);
    if (!is_offered_by(*volume, node)) continue;
    if (!volume->claim_ref.empty()) {
      const auto claim = objects_.claim(volume->claim_ref);
      // A released volume still names its claim; that may be bound elsewhere by now.
      if (claim == nullptr || claim->volume_name != name) continue;
      const auto policy = claim->metadata.annotations.find(std::string(kOrphanPolicy));
      if (policy == claim->metadata.annotations.end() || policy->second != kRelease) continue;
      unbind_claim(claim);
    }
    erase_other(Kind::persistent_volume, name);
  }
}

void Gateway::unbind_claim(const std::shared_ptr<const PersistentVolumeClaim>& claim) {
  const std::string key = claim->metadata.key();
  EventObjects objects;
  objects.old_claim = claim;
  PersistentVolumeClaim free = *claim;
  free.volume_name.clear();
  free.phase = "Pending";
  if (Json* spec = free.manifest.find("spec")) spec->erase("volumeName");
  free.manifest.set("status", Json(Json::Object{{"phase", Json("Pending")}}));
  objects_.put(std::move(free));
  objects.new_claim = objects_.claim(key);
  publisher_.mirror(Kind::persistent_volume_claim, key);
  publisher_.mark(Kind::persistent_volume_claim, key);
  wake({EventResource::persistent_volume_claim, kUpdate, "PersistentVolumeClaimUpdate"}, objects);
}

// Cleared of everything: every slot of this incarnation is gone or stands on the release list. A node like others now.
void Gateway::welcome_back(const std::string& node, const std::string& incarnation) {
  const std::size_t erased = identity_.retired.erase(node + "/" + incarnation) + identity_.retired.erase(node + "/");
  if (erased == 0) return;
  identity_changed_ = true;
  log_.write(Level::info, "forgotten node returned; what it ran is released", {{"node", node}});
  refresh_node(node);
  if (const DeviceNode* device = nodes_.find(node); device != nullptr && !device->facts.is_null()) {
    refresh_local_volumes(node);
  }
}

Json Gateway::api_retire(const Json& request) {
  const auto text = [&](std::string_view key) {
    const Json* value = request.find(key);
    return value != nullptr && value->is_string() ? value->as_string() : std::string();
  };
  const auto failure = [](const std::string& why) {
    return Json(Json::Object{{"ok", Json(false)}, {"error", Json(why)}});
  };
  const KindName* kind = find_kind(text("kind"));
  if (kind == nullptr || kind->kind != Kind::node) return failure("kind: only a Node can be forgotten");
  const std::string node = text("name");
  if (!is_valid_name(node)) return failure("name: the name of a node is wanted");
  const DeviceNode* device = nodes_.find(node);
  const bool heard = device != nullptr && device->reachable;
  if (Status forgotten = retire_node(node); !forgotten.is_success()) return failure(forgotten.message());
  Json warnings = Json::array();
  if (heard) {
    warnings.push_back(
        "it was heard of a moment ago: until it has been told to stop them, pods that are placed anew "
        "may run there as well");
  }
  Json reply(Json::Object{{"ok", Json(true)}, {"result", Json("forgotten")}, {"key", Json(node)}});
  return reply.set("warnings", std::move(warnings));
}

}  // namespace berth
