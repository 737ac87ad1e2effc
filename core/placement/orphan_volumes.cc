#include "core/placement/orphan_volumes.h"

#include <algorithm>
#include <utility>

#include "core/api/node.h"
#include "core/api/volume.h"

namespace berth {

void OrphanVolumes::take_listing(const std::string& node, const Listed& listed) {
  holds_.erase(node);
  for (const SlotReport& slot : listed.slots) {
    if (has_left_volume(node, {slot})) holds_[node].insert(slot.epoch);
  }
  const std::vector<KeptVolume>& volumes = listed.kept_volumes;
  if (volumes.empty() && !told_.contains(node)) return;
  // Most have an object. Beyond the limit they are seen once the operator has decided on others.
  Volumes told;
  for (const KeptVolume& each : volumes) {
    if (told.size() == context_.options.node_limits.volumes) break;
    if (!has_object(node, each)) told.emplace(each.volume, each);
  }
  told_[node] = std::move(told);
  review(node);
}

void OrphanVolumes::adopt_mode_ended() {
  for (const auto& [node, volumes] : told_) review(node);
}

bool OrphanVolumes::note_ended(const std::string& node, const Epoch& epoch) {
  const auto found = holds_.find(node);
  return found != holds_.end() && found->second.erase(epoch) > 0;
}

bool OrphanVolumes::has_left_volume(const std::string& node, const std::vector<SlotReport>& slots) const {
  for (const SlotReport& slot : slots) {
    for (const BoundVolume& each : slot.volumes) {
      const KeptVolume volume{each.volume, each.path};
      if (!has_object(node, volume) && !class_of(node, volume).empty()) return true;
    }
  }
  return false;
}

void OrphanVolumes::forget(const std::string& node) {
  holds_.erase(node);
  told_.erase(node);
  orphans_.erase(node);
}

void OrphanVolumes::note_deleted(const std::string& node, const std::string& volume) {
  if (const auto told = told_.find(node); told != told_.end()) told->second.erase(volume);
  const auto found = orphans_.find(node);
  if (found != orphans_.end() && found->second.erase(volume) > 0) context_.publisher.mark(Kind::node, node);
}

// A device could say anything: a volume lies in one of its pools, under its name.
std::string OrphanVolumes::class_of(const std::string& node, const KeptVolume& volume) const {
  const DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr || device->node == nullptr) return {};
  for (const VolumePool& pool : device->node->volume_pools.get()) {
    if (path_in(pool, volume.volume) == volume.path) return pool.storage_class;
  }
  return {};
}

// One of that name and path that an operator has applied himself says by its affinity where it is.
bool OrphanVolumes::has_object(const std::string& node, const KeptVolume& volume) const {
  const auto known = context_.objects.volume(volume.volume);
  return known != nullptr && known->local_path == volume.path && (maker_of(*known).empty() || maker_of(*known) == node);
}

// Not with an object, which another node has made again.
std::string OrphanVolumes::claim_of(const std::string& volume) const {
  if (context_.objects.volume(volume) != nullptr) return {};
  const auto& claims = context_.objects.all<PersistentVolumeClaim>();
  const auto found = std::find_if(claims.begin(), claims.end(),
                                  [&volume](const auto& claim) { return claim.second->volume_name == volume; });
  return found == claims.end() ? std::string() : found->first;
}

bool OrphanVolumes::is_orphan(const std::string& node, const KeptVolume& volume) const {
  return !context_.identity->adopting && !class_of(node, volume).empty() && !has_object(node, volume) &&
         !provisioned_.is_named(node, volume.volume);
}

void OrphanVolumes::review(const std::string& node) {
  Volumes orphans, news;
  const auto before = orphans_.find(node);
  for (const auto& [name, volume] : told_.at(node)) {
    if (!is_orphan(node, volume)) continue;
    orphans.emplace(name, volume);
    if (before == orphans_.end() || !before->second.contains(name)) news.emplace(name, volume);
  }
  if (before == orphans_.end() ? orphans.empty() : before->second == orphans) return;
  context_.publisher.mark(Kind::node, node);
  if (!news.empty()) tell(node, news);
  if (orphans.empty()) {
    orphans_.erase(node);
  } else {
    orphans_[node] = std::move(orphans);
  }
}

void OrphanVolumes::tell(const std::string& node, const Volumes& news) {
  const KeptVolume& first = news.begin()->second;
  const std::string more = news.size() == 1 ? std::string() : " and " + std::to_string(news.size() - 1) + " more";
  context_.events.record({Kind::node, node, "Warning", "OrphanVolume",
                          "directory " + first.path + more +
                              " has been used and has no PersistentVolume; berthctl get pv "
                              "shows it as Orphan",
                          node});
}

std::vector<OrphanVolumes::Orphan> OrphanVolumes::all() const {
  std::vector<Orphan> all;
  for (const auto& [node, volumes] : orphans_) {
    for (const auto& [name, volume] : volumes) all.push_back({node, class_of(node, volume), volume});
  }
  return all;
}

std::vector<OrphanVolumes::Orphan> OrphanVolumes::of(const std::string& node) const {
  std::vector<Orphan> found;
  const auto volumes = orphans_.find(node);
  if (volumes == orphans_.end()) return found;
  for (const auto& [name, volume] : volumes->second) found.push_back({node, class_of(node, volume), volume});
  return found;
}

std::vector<OrphanVolumes::Orphan> OrphanVolumes::named(const std::string& volume) const {
  std::vector<Orphan> found = all();
  std::erase_if(found, [&volume](const Orphan& each) { return each.volume.volume != volume; });
  return found;
}

Status OrphanVolumes::keep(const Orphan& orphan, const std::string& reclaim_policy) {
  const std::string& name = orphan.volume.volume;
  if (const auto other = context_.objects.volume(name); other != nullptr) {
    return Status::error("PersistentVolume \"" + name + "\" is there already" +
                         (maker_of(*other).empty() ? std::string() : ", on node " + maker_of(*other)) +
                         ": move directory " + orphan.volume.path + " of node " + orphan.node + " away by hand");
  }
  if (!is_orphan(orphan.node, orphan.volume)) {
    return Status::error("PersistentVolume \"" + name + "\" is in use on node " + orphan.node + " by now");
  }
  const std::string claim = claim_of(name);
  if (!claim.empty() && reclaim_policy == "Delete") {
    return Status::error("PersistentVolume \"" + name + "\" has the data of claim " + claim +
                         ", which is bound to it: keep it with berthctl adopt pv, or delete the claim first");
  }
  if (Status capacity = context_.admission.capacity(); !capacity.is_success()) return capacity;
  provisioned_.add_found(orphan.node, orphan.storage_class, orphan.volume, reclaim_policy,
                         claim.empty() ? "Released" : "Available");
  const auto found = orphans_.find(orphan.node);
  found->second.erase(name);
  if (found->second.empty()) orphans_.erase(found);
  context_.publisher.mark(Kind::node, orphan.node);
  return Status::ok();
}

}  // namespace berth
