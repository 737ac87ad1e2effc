#include "core/cache/cache.h"

#include <algorithm>
#include <utility>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/topology.h"
#include "core/check.h"
#include "core/prefetch.h"

namespace berth {

Cache::Index Cache::find_node(std::string_view name) const {
  return nodes_.find(name, [&](Index index) { return entries_[index].name == name; });
}

Cache::Index Cache::find_pod(std::string_view uid) const {
  return pods_.find(uid, [&](Index index) { return placed_[index].pod->uid() == uid; });
}

NodeInfo& Cache::touch(Index index) {
  Entry& entry = entries_[index];
  // A snapshot reads what it was given: it never sees a later change.
  if (entry.info.use_count() > 1) {
    std::shared_ptr<NodeInfo> copy;
    if (spare_.empty()) {
      copy = std::make_shared<NodeInfo>();
    } else {
      copy = std::move(spare_.back());
      spare_.pop_back();
    }
    *copy = *entry.info;
    entry.info = std::move(copy);
  }
  entry.info->generation = ++generation_;
  entry.info->images_taken = false;
  constexpr std::size_t kFewest = 64, kMost = 4096;
  touched_.add(index, std::clamp(entries_.size(), kFewest, kMost));
  return *entry.info;
}

Cache::Index Cache::entry_of(std::string_view node) {
  // By the node's own name where there is one, which its reader has at hand.
  const auto is_named = [node](const Entry& entry) {
    return entry.info == nullptr || entry.info->node == nullptr ? entry.name == node : entry.info->name() == node;
  };
  if (expected_ != kNone && is_named(entries_[expected_])) return expected_;
  if (const Index known = find_node(node); known != kNone) return known;
  const Index index = entries_.take();
  entries_[index].name = Text::common(node);
  entries_[index].info = std::make_shared<NodeInfo>();
  entries_[index].info->number = index;
  nodes_.insert(node, index);
  return index;
}

void Cache::expect(const NodeInfo& node) {
  if (node.number >= entries_.size()) return;
  expected_ = node.number;
  prefetch(entries_[expected_]);
}

void Cache::drop_if_empty(Index index) {
  const NodeInfo& info = *entries_[index].info;
  if (info.node != nullptr || !info.pods.empty() || !info.charges.empty()) return;
  if (expected_ == index) expected_ = kNone;
  nodes_.erase(entries_[index].name, [index](Index other) { return other == index; });
  entries_.give_back(index);
}

void Cache::set_node(std::shared_ptr<const Node> node) {
  const Index index = entry_of(node->metadata.name);
  NodeInfo& info = touch(index);
  std::string name = zone_key(node->metadata.labels);
  if (info.node == nullptr || entries_[index].zone != name) {
    note_structure(node->metadata.name, index);
    if (info.node != nullptr) leave_zone(index);
    auto zone = std::find_if(zones_.begin(), zones_.end(), [&name](const Zone& each) { return each.name == name; });
    if (zone == zones_.end()) zone = zones_.insert(zone, {name, {}});
    zone->nodes.push_back(index);
    entries_[index].zone = Text::common(name);
  }
  note_images(info.node.get(), node.get());
  info.images_version = -1;  // the names may be in another order
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
    ImageState& image = images_.try_emplace(name, ImageState{size, 0}).first->second;
    ++image.nodes;
  }
}

// The node's state is about to be in a snapshot. Another snapshot may have it already: then it stays.
void Cache::take_images(NodeInfo& info) const {
  if (info.images_taken) return;
  info.images_taken = true;
  if (info.images_version == images_changed_) return;
  info.images_version = images_changed_;
  std::vector<ImageState> states;
  for (const ContainerImage& image : info.node->images) {
    for (const std::string& name : image.names) states.push_back(images_.at(name));
  }
  info.images = states.empty() ? Shared<std::vector<ImageState>>() : Shared(std::move(states));
}

void Cache::remove_node(const std::string& name) {
  const Index index = find_node(name);
  if (index == kNone || entries_[index].info->node == nullptr) return;
  NodeInfo& info = touch(index);
  note_images(info.node.get(), nullptr);
  info.node = nullptr;
  info.allocatable = {};
  note_structure(name, index);
  leave_zone(index);
  drop_if_empty(index);
}

void Cache::leave_zone(Index index) {
  const auto zone =
      std::find_if(zones_.begin(), zones_.end(), [&](const Zone& each) { return each.name == entries_[index].zone; });
  std::erase(zone->nodes, index);
  if (zone->nodes.empty()) zones_.erase(zone);
}

void Cache::add_to(Index node, const PodPtr& pod) {
  NodeInfo& info = touch(node);
  const auto before = static_cast<std::int64_t>(info.pods_with_affinity.size());
  info.add_pod(pod, amounts_.of(*pod));
  ++pods_by_priority_[pod->priority];
  pods_with_affinity_ += static_cast<std::int64_t>(info.pods_with_affinity.size()) - before;
}

void Cache::take_from(const Placed& placed, std::string_view uid) {
  const Index node = placed.node;
  NodeInfo& info = touch(node);
  const auto before = static_cast<std::int64_t>(info.pods_with_affinity.size());
  const PodPtr removed = info.remove_pod(uid, amounts_.of(*placed.pod));
  const auto of_priority = pods_by_priority_.find(removed->priority);
  if (--of_priority->second == 0) pods_by_priority_.erase(of_priority);
  pods_with_affinity_ += static_cast<std::int64_t>(info.pods_with_affinity.size()) - before;
  drop_if_empty(node);
}

// As find_pod(); kNone: the pod was unknown, and is placed now.
Cache::Index Cache::place_unknown(const PodPtr& pod, std::string_view node, bool assumed) {
  const std::string_view uid = pod->uid();
  const auto is_it = [&](Index index) { return placed_[index].pod->uid() == uid; };
  const auto [index, is_new] = pods_.find_or_insert(uid, is_it, [this] { return placed_.take(); });
  if (!is_new) return index;
  const Index on = entry_of(node);
  add_to(on, pod);
  placed_[index] = {pod, on, assumed};
  return kNone;
}

Status Cache::assume(const PodPtr& pod, const std::string& node) {
  if (const Index index = place_unknown(pod, node, true); index != kNone) {
    return Status::error("pod " + pod->metadata.key() + " is already counted on node " +
                         std::string(entries_[placed_[index].node].name));
  }
  return Status::ok();
}

void Cache::confirm(PodPtr pod, std::string_view node) {
  const Index index = place_unknown(pod, node, false);
  if (index == kNone) return;
  Placed& placed = placed_[index];
  placed.assumed = false;
  if (entries_[placed.node].name == node && placed.pod == pod) return;
  take_from(placed, pod->uid());
  placed.node = entry_of(node);
  add_to(placed.node, pod);
  placed.pod = std::move(pod);
}

void Cache::forget(std::string_view uid) {
  const Index index = find_pod(uid);
  if (index != kNone && placed_[index].assumed) remove(std::string(uid));
}

void Cache::remove(std::string_view uid) {
  const Index index = find_pod(uid);
  if (index == kNone) return;
  take_from(placed_[index], uid);
  pods_.erase(uid, [index](Index other) { return other == index; });
  placed_.give_back(index);  // last: `uid` may be the pod's own
}

void Cache::update(PodPtr pod) {
  const Index index = find_pod(pod->uid());
  if (index == kNone || placed_[index].pod == pod) return;
  Placed& placed = placed_[index];
  const std::string node = entries_[placed.node].name;  // a ghost may go with its last pod
  take_from(placed, pod->uid());
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
  const Index index = find_node(node);
  if (index == kNone || !entries_[index].info->charges.contains(key)) return;
  NodeInfo& info = touch(index);
  auto charged = info.charges.find(key);
  info.requested.subtract(charged->second);
  info.requested_for_scoring.subtract(charged->second);
  info.charges.erase(charged);
  drop_if_empty(index);
}

bool Cache::is_assumed(std::string_view uid) const {
  const Index index = find_pod(uid);
  return index != kNone && placed_[index].assumed;
}

std::optional<std::string> Cache::node_of(std::string_view uid) const {
  const Index index = find_pod(uid);
  if (index == kNone) return std::nullopt;
  return entries_[placed_[index].node].name;
}

const NodeInfo* Cache::find(std::string_view node) const {
  const Index index = find_node(node);
  return index == kNone ? nullptr : entries_[index].info.get();
}

std::size_t Cache::node_count() const {
  std::size_t nodes = 0;
  for (Index index = 0; index < entries_.size(); ++index) {
    const Entry& entry = entries_[index];
    if (entry.info != nullptr && entry.info->node != nullptr) ++nodes;
  }
  return nodes;
}

std::size_t Cache::pod_count() const { return pods_.size(); }

std::size_t Cache::assumed_count() const {
  std::size_t pods = 0;
  for (Index index = 0; index < placed_.size(); ++index) pods += placed_[index].assumed ? 1u : 0u;
  return pods;
}

}  // namespace berth
