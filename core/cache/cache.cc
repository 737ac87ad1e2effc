#include "core/cache/cache.h"

#include <algorithm>

#include "core/check.h"

namespace berth {

const NodeInfo* Snapshot::find(const std::string& node) const {
  auto found = index_.find(node);
  return found == index_.end() ? nullptr : nodes_[found->second].get();
}

NodeInfo& Cache::touch(const std::string& node) {
  std::shared_ptr<NodeInfo>& entry = nodes_[node];
  if (entry == nullptr) {
    entry = std::make_shared<NodeInfo>();
  } else {
    changed_.erase(entry->generation);
    // A snapshot reads what it was given: it never sees a later change.
    if (entry.use_count() > 1) entry = std::make_shared<NodeInfo>(*entry);
  }
  entry->generation = ++generation_;
  changed_.emplace(generation_, node);
  return *entry;
}

void Cache::drop_if_empty(const std::string& node) {
  auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  const NodeInfo& info = *found->second;
  if (info.node != nullptr || !info.pods.empty() || !info.charges.empty()) return;
  changed_.erase(info.generation);
  nodes_.erase(found);
}

void Cache::set_node(std::shared_ptr<const Node> node) {
  NodeInfo& info = touch(node->metadata.name);
  if (info.node == nullptr) ++structure_;
  info.allocatable = to_resources(node->allocatable);
  info.node = std::move(node);
}

void Cache::remove_node(const std::string& name) {
  auto found = nodes_.find(name);
  if (found == nodes_.end() || found->second->node == nullptr) return;
  NodeInfo& info = touch(name);
  info.node = nullptr;
  info.allocatable = {};
  ++structure_;
  drop_if_empty(name);
}

void Cache::add_to(const std::string& node, const std::shared_ptr<const Pod>& pod) { touch(node).add_pod(pod); }

void Cache::take_from(const std::string& node, const std::string& uid) {
  touch(node).remove_pod(uid);
  drop_if_empty(node);
}

Status Cache::assume(std::shared_ptr<const Pod> pod, const std::string& node) {
  const std::string uid = pod->uid();
  if (auto found = pods_.find(uid); found != pods_.end()) {
    return Status::error("pod " + pod->metadata.key() + " is already counted on node " + found->second.node);
  }
  add_to(node, pod);
  pods_.emplace(uid, Placed{std::move(pod), node, true});
  return Status::ok();
}

void Cache::confirm(std::shared_ptr<const Pod> pod, const std::string& node) {
  const std::string uid = pod->uid();
  auto found = pods_.find(uid);
  if (found == pods_.end()) {
    add_to(node, pod);
    pods_.emplace(uid, Placed{std::move(pod), node, false});
    return;
  }
  Placed& placed = found->second;
  placed.assumed = false;
  if (placed.node == node && placed.pod == pod) return;
  take_from(placed.node, uid);
  add_to(node, pod);
  placed.pod = std::move(pod);
  placed.node = node;
}

void Cache::forget(const std::string& uid) {
  auto found = pods_.find(uid);
  if (found != pods_.end() && found->second.assumed) remove(std::string(uid));
}

void Cache::remove(const std::string& uid) {
  auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  take_from(found->second.node, uid);
  pods_.erase(found);
}

void Cache::update(std::shared_ptr<const Pod> pod) {
  auto found = pods_.find(pod->uid());
  if (found == pods_.end() || found->second.pod == pod) return;
  Placed& placed = found->second;
  take_from(placed.node, pod->uid());
  add_to(placed.node, pod);
  placed.pod = std::move(pod);
}

void Cache::charge(const std::string& node, const std::string& key, const Resources& amount) {
  NodeInfo& info = touch(node);
  Resources& charged = info.charges[key];
  info.requested.subtract(charged);
  info.requested_for_scoring.subtract(charged);
  charged = amount;
  info.requested.add(amount);
  info.requested_for_scoring.add(amount);
}

void Cache::discharge(const std::string& node, const std::string& key) {
  auto found = nodes_.find(node);
  if (found == nodes_.end() || !found->second->charges.contains(key)) return;
  NodeInfo& info = touch(node);
  auto charged = info.charges.find(key);
  info.requested.subtract(charged->second);
  info.requested_for_scoring.subtract(charged->second);
  info.charges.erase(charged);
  drop_if_empty(node);
}

bool Cache::is_assumed(const std::string& uid) const {
  auto found = pods_.find(uid);
  return found != pods_.end() && found->second.assumed;
}

std::optional<std::string> Cache::node_of(const std::string& uid) const {
  auto found = pods_.find(uid);
  if (found == pods_.end()) return std::nullopt;
  return found->second.node;
}

void Cache::update_snapshot(Snapshot& snapshot) const {
  if (snapshot.structure_ != structure_) {
    snapshot.nodes_.clear();
    snapshot.index_.clear();
    for (const auto& [name, info] : nodes_) {
      if (info->node == nullptr) continue;
      snapshot.index_.emplace(name, snapshot.nodes_.size());
      snapshot.nodes_.push_back(info);
    }
    snapshot.structure_ = structure_;
  } else {
    for (auto it = changed_.upper_bound(snapshot.generation_); it != changed_.end(); ++it) {
      auto place = snapshot.index_.find(it->second);
      if (place != snapshot.index_.end()) snapshot.nodes_[place->second] = nodes_.at(it->second);
    }
  }
  snapshot.generation_ = generation_;
}

const NodeInfo* Cache::find(const std::string& node) const {
  auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::size_t Cache::node_count() const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) { return entry.second->node != nullptr; }));
}

std::size_t Cache::pod_count() const { return pods_.size(); }

std::size_t Cache::assumed_count() const {
  return static_cast<std::size_t>(
      std::count_if(pods_.begin(), pods_.end(), [](const auto& entry) { return entry.second.assumed; }));
}

}  // namespace berth
