#include "core/cache/cache.h"

#include <algorithm>
#include <utility>

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

const NodeInfo* Snapshot::find(const std::string& node) const {
  auto found = index_.find(node);
  return found == index_.end() ? nullptr : nodes_[found->second].get();
}

std::size_t Snapshot::place_of(const std::string& node) const {
  auto found = index_.find(node);
  return found == index_.end() ? nodes_.size() : found->second;
}

Cache::Place Cache::find_node(const std::string& name) const {
  return nodes_.find(name, [&](Place place) { return entries_[place].name == name; });
}

Cache::Place Cache::find_pod(const std::string& uid) const {
  return pods_.find(uid, [&](Place place) { return placed_[place].pod->uid() == uid; });
}

NodeInfo& Cache::touch(Place place) {
  Entry& entry = entries_[place];
  // A snapshot reads what it was given: it never sees a later change.
  if (entry.info.use_count() > 1) {
    auto copy = std::make_shared<NodeInfo>();
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

Cache::Place Cache::entry_of(const std::string& node) {
  if (const Place known = find_node(node); known != kNone) return known;
  const Place place = entries_.take();
  entries_[place].name = node;
  entries_[place].info = std::make_shared<NodeInfo>();
  nodes_.insert(node, place);
  link_newest(place);
  return place;
}

void Cache::link_newest(Place place) {
  entries_[place].older = newest_;
  if (newest_ != kNone) entries_[newest_].newer = place;
  newest_ = place;
}

void Cache::unlink(Place place) {
  Entry& entry = entries_[place];
  if (entry.older != kNone) entries_[entry.older].newer = entry.newer;
  (entry.newer != kNone ? entries_[entry.newer].older : newest_) = entry.older;
  entry.older = kNone;
  entry.newer = kNone;
}

void Cache::drop_if_empty(Place place) {
  const NodeInfo& info = *entries_[place].info;
  if (info.node != nullptr || !info.pods.empty() || !info.charges.empty()) return;
  unlink(place);
  nodes_.erase(entries_[place].name, [place](Place other) { return other == place; });
  entries_.give_back(place);
}

void Cache::set_node(std::shared_ptr<const Node> node) {
  const std::string& name = node->metadata.name;
  NodeInfo& info = touch(entry_of(name));
  const std::string zone = zone_of(*node);
  if (info.node == nullptr || zone_of_.at(name) != zone) {
    ++structure_;
    leave_zone(name);
    zone_of_[name] = zone;
    auto place = std::find_if(zones_.begin(), zones_.end(), [&zone](const Zone& each) { return each.name == zone; });
    if (place == zones_.end()) place = zones_.insert(place, {zone, {}});
    place->nodes.push_back(name);
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
  const Place place = find_node(name);
  if (place == kNone || entries_[place].info->node == nullptr) return;
  NodeInfo& info = touch(place);
  note_images(info.node.get(), nullptr);
  info.node = nullptr;
  info.allocatable = {};
  ++structure_;
  leave_zone(name);
  drop_if_empty(place);
}

void Cache::leave_zone(const std::string& node) {
  if (zone_of_.erase(node) == 0) return;
  for (Zone& zone : zones_) std::erase(zone.nodes, node);
  std::erase_if(zones_, [](const Zone& zone) { return zone.nodes.empty(); });
}

std::vector<std::string> Cache::order() const {
  std::vector<std::string> nodes;
  for (std::size_t round = 0; nodes.size() < zone_of_.size(); ++round) {
    for (const Zone& zone : zones_) {
      if (round < zone.nodes.size()) nodes.push_back(zone.nodes[round]);
    }
  }
  return nodes;
}

void Cache::add_to(Place node, const std::shared_ptr<const Pod>& pod) {
  NodeInfo& info = touch(node);
  const auto before = static_cast<std::int64_t>(info.pods_with_affinity.size());
  info.add_pod(pod);
  pods_with_affinity_ += static_cast<std::int64_t>(info.pods_with_affinity.size()) - before;
}

void Cache::take_from(Place node, const std::string& uid) {
  NodeInfo& info = touch(node);
  const auto before = static_cast<std::int64_t>(info.pods_with_affinity.size());
  info.remove_pod(uid);
  pods_with_affinity_ += static_cast<std::int64_t>(info.pods_with_affinity.size()) - before;
  drop_if_empty(node);
}

// An unknown one.
void Cache::place_pod(std::shared_ptr<const Pod> pod, const std::string& node, bool assumed) {
  const Place on = entry_of(node);
  add_to(on, pod);
  const Place place = placed_.take();
  pods_.insert(pod->uid(), place);
  placed_[place] = {std::move(pod), on, assumed};
}

Status Cache::assume(std::shared_ptr<const Pod> pod, const std::string& node) {
  if (const Place place = find_pod(pod->uid()); place != kNone) {
    return Status::error("pod " + pod->metadata.key() + " is already counted on node " +
                         entries_[placed_[place].node].name);
  }
  place_pod(std::move(pod), node, true);
  return Status::ok();
}

void Cache::confirm(std::shared_ptr<const Pod> pod, const std::string& node) {
  const Place place = find_pod(pod->uid());
  if (place == kNone) return place_pod(std::move(pod), node, false);
  Placed& placed = placed_[place];
  placed.assumed = false;
  if (entries_[placed.node].name == node && placed.pod == pod) return;
  take_from(placed.node, pod->uid());
  placed.node = entry_of(node);
  add_to(placed.node, pod);
  placed.pod = std::move(pod);
}

void Cache::forget(const std::string& uid) {
  const Place place = find_pod(uid);
  if (place != kNone && placed_[place].assumed) remove(std::string(uid));
}

void Cache::remove(const std::string& uid) {
  const Place place = find_pod(uid);
  if (place == kNone) return;
  take_from(placed_[place].node, uid);
  pods_.erase(uid, [place](Place other) { return other == place; });
  placed_.give_back(place);  // last: `uid` may be the pod's own
}

void Cache::update(std::shared_ptr<const Pod> pod) {
  const Place place = find_pod(pod->uid());
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
  const Place place = find_node(node);
  if (place == kNone || !entries_[place].info->charges.contains(key)) return;
  NodeInfo& info = touch(place);
  auto charged = info.charges.find(key);
  info.requested.subtract(charged->second);
  info.requested_for_scoring.subtract(charged->second);
  info.charges.erase(charged);
  drop_if_empty(place);
}

bool Cache::is_assumed(const std::string& uid) const {
  const Place place = find_pod(uid);
  return place != kNone && placed_[place].assumed;
}

std::optional<std::string> Cache::node_of(const std::string& uid) const {
  const Place place = find_pod(uid);
  if (place == kNone) return std::nullopt;
  return entries_[placed_[place].node].name;
}

NodeColumns& Snapshot::columns() const {
  if (!columns_) columns_.emplace(nodes_);
  return *columns_;
}

void Snapshot::note(Change change) {
  if (change.move != nullptr) ++moves_;
  changes_.push_back(std::move(change));
  ++changes_made_;
  while (changes_.size() > kChangesKept || moves_ > kMovesKept) {
    if (changes_.front().move != nullptr) --moves_;
    changes_.pop_front();
  }
}

// Nodes keep their states; those that changed are replaced afterwards.
void Cache::rearrange(Snapshot& snapshot) const {
  auto move = std::make_shared<Snapshot::Move>();
  std::vector<std::shared_ptr<const NodeInfo>> nodes;
  std::map<std::string, std::size_t> index;
  for (std::string& name : order()) {
    const auto known = snapshot.index_.find(name);
    if (known == snapshot.index_.end()) {
      move->from.push_back(Snapshot::Move::kNew);
      nodes.push_back(entries_[find_node(name)].info);
    } else {
      move->from.push_back(known->second);
      nodes.push_back(std::exchange(snapshot.nodes_[known->second], nullptr));
    }
    index.emplace(std::move(name), nodes.size() - 1);
  }
  for (std::size_t place = 0; place < snapshot.nodes_.size(); ++place) {
    if (snapshot.nodes_[place] != nullptr) move->gone.emplace_back(place, std::move(snapshot.nodes_[place]));
  }
  snapshot.nodes_ = std::move(nodes);
  snapshot.columns_.reset();
  snapshot.index_ = std::move(index);
  snapshot.note({0, nullptr, std::move(move)});
  snapshot.structure_ = structure_;
}

void Cache::update_snapshot(Snapshot& snapshot) const {
  if (snapshot.structure_ != structure_) rearrange(snapshot);
  // Those newer than the snapshot, from the oldest of them on.
  Place first = kNone;
  for (Place place = newest_; place != kNone; place = entries_[place].older) {
    if (entries_[place].info->generation <= snapshot.generation_) break;
    first = place;
  }
  for (Place place = first; place != kNone; place = entries_[place].newer) {
    const Entry& entry = entries_[place];
    auto known = snapshot.index_.find(entry.name);
    if (known == snapshot.index_.end()) continue;
    std::shared_ptr<const NodeInfo>& node = snapshot.nodes_[known->second];
    if (node == entry.info) continue;
    if (snapshot.columns_) snapshot.columns_->set(known->second, *node, *entry.info);
    snapshot.note({known->second, std::exchange(node, entry.info), nullptr});
  }
  if (snapshot.images_changed_ != images_changed_) {
    snapshot.images_ = images_;
    snapshot.images_changed_ = images_changed_;
  }
  snapshot.pods_with_affinity_ = pods_with_affinity_;
  snapshot.generation_ = generation_;
}

const NodeInfo* Cache::find(const std::string& node) const {
  const Place place = find_node(node);
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
