#include "core/placement/retirement.h"

#include <set>
#include <vector>

namespace berth {

namespace {

// Annotation of a claim: what becomes of it when its volume was on a retired node.
constexpr std::string_view kOrphanPolicy = "berth/orphan-policy";
constexpr std::string_view kRelease = "Release";  // anything else, or none, is Retain

}  // namespace

Status Retirement::retire(const std::string& node) {
  std::set<std::string> incarnations;
  const DeviceNode* device = context_.nodes.find(node);
  if (device != nullptr && !device->incarnation.empty()) incarnations.insert(device->incarnation);
  std::vector<std::string> uids, entries;
  for (const auto& [uid, binding] : parts_.state.bindings) {
    if (binding.row.node != node) continue;
    uids.push_back(uid);
    if (binding.row.phase != Phase::none) incarnations.insert(binding.row.incarnation);
  }
  for (const auto& [key, release] : parts_.state.releases) {
    if (release.entry.node != node) continue;
    entries.push_back(key);
    incarnations.insert(release.entry.incarnation);
  }
  const bool known =
      device != nullptr || !uids.empty() || !entries.empty() || context_.identity->adopt_nodes.contains(node);
  if (!known) return Status::error("Node \"" + node + "\" not found");
  // In adopt mode the incarnation known may be an old one: whichever returns is meant.
  if (incarnations.empty() || context_.identity->adopting) incarnations.insert("");
  for (const std::string& incarnation : incarnations) context_.identity.edit().retired.insert(node + "/" + incarnation);
  context_.log.write(
      Level::warn, "node forgotten",
      {{"node", node}, {"rows", std::to_string(uids.size())}, {"releases", std::to_string(entries.size())}});

  parts_.nodes.drop(node);
  parts_.takeover.forget(node);
  parts_.twins.forget(node);
  for (std::string_view uid : uids) end_row(uid, node);
  parts_.lifecycle.deliver_permits();
  for (const std::string& key : entries) parts_.releases.end(key);
  // A listing that one of these ends asked for would leave out what has ended: nothing has, it was given up.
  parts_.listings.forget(node);
  parts_.orphan_volumes.forget(node);
  orphan_volumes(node);
  parts_.volumes.deselect(node);
  if (context_.objects.overlay(node) != nullptr) parts_.changes.erase(Kind::node, node);
  // After the rows: pods that adopt mode kept from being placed or erased follow.
  if (context_.identity.erase(&Identity::adopt_nodes, node) && context_.mirror.barrier().is_synced()) {
    parts_.adopt_mode.note_answered(node);
  };
  return Status::ok();
}

void Retirement::end_row(std::string_view uid, const std::string& node) {
  const Binding* binding = parts_.state.find(uid);
  if (binding == nullptr) return;
  const std::string reason = "node " + node + " was forgotten";
  if (binding->row.phase != Phase::none) return parts_.lifecycle.feed(uid, RowEvent::forget, reason);
  parts_.lifecycle.give_up_waiting(uid, reason, reason);
}

// Volumes on the node's own disk: one that nobody claims is no longer offered; for a claimed one the claim decides.
// With Retain (the default) claim and volume stay as they are, and pods that use them wait for the operator or for the
// node. With Release the data is given up: the claim may be bound again, elsewhere.
void Retirement::orphan_volumes(const std::string& node) {
  for (const std::string& name : context_.objects.keys(Kind::persistent_volume)) {
    const auto volume = context_.objects.volume(name);
    if (!is_offered_by(*volume, node)) continue;
    if (!volume->claim_ref.empty()) {
      const auto claim = context_.objects.claim(volume->claim_ref);
      // A released volume still names its claim; that may be bound elsewhere by now.
      if (is_reclaimed(context_.objects, *volume)) {  // nobody is left to delete it
        parts_.changes.erase(Kind::persistent_volume, name);
        continue;
      }
      if (claim == nullptr || claim->volume_name != name) continue;
      const auto policy = claim->metadata.annotations.find(std::string(kOrphanPolicy));
      if (policy == claim->metadata.annotations.end() || policy->second != kRelease) continue;
      parts_.volumes.unbind(claim);
    }
    parts_.changes.erase(Kind::persistent_volume, name);
  }
}

}  // namespace berth
