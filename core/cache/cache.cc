#include "core/cache/cache.h"

#include <algorithm>
#include <utility>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/check.h"

namespace berth {

namespace {

// Region and zone in one key; empty: the node has neither (component-helpers node/topology GetZoneKey).
std::string zone_of(const Node& node) {
  auto label = [&node](const char* beta, const char* stable) {
    for (const char* key : {beta, stable}) {
      if (auto found = node.metadata.labels.find(key); found != node.metadata.labels.end()) return found->second;
    }
    return std::string();
  };
  const std::string zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
  const std::string region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
  return zone.empty() && region.empty() ? std::string() : region + ":" + std::string(1, '\0') + ":" + zone;
}

}  // namespace

Cache::Index Cache::find_node(std::string_view name) const {
  return nodes_.find(name, [&](Index place) { return entries_[place].name == name; });
}

Cache::Index Cache::find_pod(std::string_view uid) const {
  return pods_.find(uid, [&](Index place) { return placed_[place].pod->uid() == uid; });
}

NodeInfo& Cache::touch(Index place) {
  Entry& entry = entries_[place];
  // A snapshot reads what it was given: it never sees a later change.
  if (entry.info.use_count() > 1) {
    std::shared_ptr<NodeInfo> copy;
    if (spare_.empty()) {
      copy = std::make_shared<NodeInfo>();
    } else {
      copy = std::move(spare_.back());
      spare_.pop_back();
    }
    copy->pods.reserve(entry.info->pods.size() + 1);  // mostly one more comes
    *copy = *entry.info;
    entry.info = std::move(copy);
  }
  entry.info->generation = ++generation_;
  if (place != newest_) {
    unlink(place);
    link_newest(place);
  }
  return *entry.info;
}

Cache::Index Cache::entry_of(std::string_view node) {
  if (const Index known = find_node(node); known != kNone) return known;
  const Index place = entries_.take();
  entries_[place].name = node;
  entries_[place].info = std::make_shared<NodeInfo>();
  nodes_.insert(node, place);
  link_newest(place);
  return place;
}

void Cache::link_newest(Index place) {
  entries_[place].older = newest_;
  if (newest_ != kNone) entries_[newest_].newer = place;
  newest_ = place;
}

void Cache::unlink(Index place) {
  Entry& entry = entries_[place];
  if (entry.older != kNone) entries_[entry.older].newer = entry.newer;
  (entry.newer != kNone ? entries_[entry.newer].older : newest_) = entry.older;
  entry.older = kNone;
  entry.newer = kNone;
}

void Cache::drop_if_empty(Index place) {
  const NodeInfo& info = *entries_[place].info;
  if (info.node != nullptr || !info.pods.empty() || !info.charges.empty()) return;
  unlink(place);
  nodes_.erase(entries_[place].name, [place](Index other) { return other == place; });
  entries_.give_back(place);
}

void Cache::set_node(std::shared_ptr<const Node> node) {
  const Index place = entry_of(node->metadata.name);
  NodeInfo& info = touch(place);
  std::string name = zone_of(*node);
  if (info.node == nullptr || entries_[place].zone != name) {
    note_structure(node->metadata.name, place);
    if (info.node != nullptr) leave_zone(place);
    auto zone = std::find_if(zones_.begin(), zones_.end(), [&name](const Zone& each) { return each.name == name; });
    if (zone == zones_.end()) zone = zones_.insert(zone, {name, {}});
    zone->nodes.push_back(place);
    entries_[place].zone = std::move(name);
  }
  note_images(info.node.get(), node.get());
  info.allocatable = to_resources(node->allocatable);
  info.node = std::move(node);
}

// Null: no node, before it came or after it went.
void Cache::note_images(const Node* before, const Node* after) {
  const auto sizes_of = [](const Node* node) {
    std::map<std::string, std::int64_t> sizes;
    if (node == nullptr) return sizes;
    for (const ContainerImage& image : node->images) {
      for (const std::string& name : image.names) sizes.emplace(name, image.size_bytes);
    }
    return sizes;
  };
  const auto gone = sizes_of(before);
  const auto there = sizes_of(after);
  if (gone == there) return;
  ++images_changed_;
  // What was there goes first: the only node that has an image may tell another size for it.
  for (const auto& [name, size] : gone) {
    const auto image = images_.find(name);
    if (--image->second.nodes == 0) images_.erase(image);
  }
  for (const auto& [name, size] : there) {
    Snapshot::Image& image = images_.try_emplace(name, Snapshot::Image{size, 0}).first->second;
    ++image.nodes;
  }
}

void Cache::remove_node(const std::string& name) {
  const Index place = find_node(name);
  if (place == kNone || entries_[place].info->node == nullptr) return;
  NodeInfo& info = touch(place);
  note_images(info.node.get(), nullptr);
  info.node = nullptr;
  info.allocatable = {};
  note_structure(name, place);
  leave_zone(place);
  drop_if_empty(place);
}

void Cache::leave_zone(Index place) {
  const auto zone =
      std::find_if(zones_.begin(), zones_.end(), [&](const Zone& each) { return each.name == entries_[place].zone; });
  std::erase(zone->nodes, place);
  if (zone->nodes.empty()) zones_.erase(zone);
}

void Cache::add_to(Index node, const std::shared_ptr<const Pod>& pod) {
  NodeInfo& info = touch(node);
  const auto before = static_cast<std::int64_t>(info.pods_with_affinity.size());
  info.add_pod(pod);
  pods_with_affinity_ += static_cast<std::int64_t>(info.pods_with_affinity.size()) - before;
}

void Cache::take_from(Index node, std::string_view uid) {
  NodeInfo& info = touch(node);
  const auto before = static_cast<std::int64_t>(info.pods_with_affinity.size());
  info.remove_pod(uid);
  pods_with_affinity_ += static_cast<std::int64_t>(info.pods_with_affinity.size()) - before;
  drop_if_empty(node);
}

// An unknown one.
void Cache::place_pod(std::shared_ptr<const Pod> pod, const std::string& node, bool assumed) {
  const Index on = entry_of(node);
  add_to(on, pod);
  const Index place = placed_.take();
  pods_.insert(pod->uid(), place);
  placed_[place] = {std::move(pod), on, assumed};
}

Status Cache::assume(std::shared_ptr<const Pod> pod, const std::string& node) {
  if (const Index place = find_pod(pod->uid()); place != kNone) {
    return Status::error("pod " + pod->metadata.key() + " is already counted on node " +
                         entries_[placed_[place].node].name);
  }
  place_pod(std::move(pod), node, true);
  return Status::ok();
}

void Cache::confirm(std::shared_ptr<const Pod> pod, const std::string& node) {
  const Index place = find_pod(pod->uid());
  if (place == kNone) return place_pod(std::move(pod), node, false);
  Placed& placed = placed_[place];
  placed.assumed = false;
  if (entries_[placed.node].name == node && placed.pod == pod) return;
  take_from(placed.node, pod->uid());
  placed.node = entry_of(node);
  add_to(placed.node, pod);
  placed.pod = std::move(pod);
}

void Cache::forget(std::string_view uid) {
  const Index place = find_pod(uid);
  if (place != kNone && placed_[place].assumed) remove(std::string(uid));
}

void Cache::remove(std::string_view uid) {
  const Index place = find_pod(uid);
  if (place == kNone) return;
  take_from(placed_[place].node, uid);
  pods_.erase(uid, [place](Index other) { return other == place; });
  placed_.give_back(place);  // last: `uid` may be the pod's own
}

void Cache::update(std::shared_ptr<const Pod> pod) {
  const Index place = find_pod(pod->uid());
  if (place == kNone || placed_[place].pod == pod) return;
  Placed& placed = placed_[place];
  const std::string node = entries_[placed.node].name;  // a ghost may go with its last pod
  take_from(placed.node, pod->uid());
  placed.node = entry_of(node);
  add_to(placed.node, pod);
  placed.pod = std::move(pod);
}

void Cache::charge(const std::string& node, const std::string& key, const Resources& amount) {
  NodeInfo& info = touch(entry_of(node));
  Resources& charged = info.charges[key];
  info.requested.subtract(charged);
  info.requested_for_scoring.subtract(charged);
  charged = amount;
  info.requested.add(amount);
  info.requested_for_scoring.add(amount);
}

void Cache::discharge(const std::string& node, const std::string& key) {
  const Index place = find_node(node);
  if (place == kNone || !entries_[place].info->charges.contains(key)) return;
  NodeInfo& info = touch(place);
  auto charged = info.charges.find(key);
  info.requested.subtract(charged->second);
  info.requested_for_scoring.subtract(charged->second);
  info.charges.erase(charged);
  drop_if_empty(place);
}

bool Cache::is_assumed(std::string_view uid) const {
  const Index place = find_pod(uid);
  return place != kNone && placed_[place].assumed;
}

std::optional<std::string> Cache::node_of(std::string_view uid) const {
  const Index place = find_pod(uid);
  if (place == kNone) return std::nullopt;
  return entries_[placed_[place].node].name;
}

const NodeInfo* Cache::find(std::string_view node) const {
  const Index place = find_node(node);
  return place == kNone ? nullptr : entries_[place].info.get();
}

std::size_t Cache::node_count() const {
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.info != nullptr && entry.info->node != nullptr;
  }));
}

std::size_t Cache::pod_count() const { return pods_.size(); }

std::size_t Cache::assumed_count() const {
  return static_cast<std::size_t>(
      std::count_if(placed_.begin(), placed_.end(), [](const Placed& placed) { return placed.assumed; }));
}

}  // namespace berth
