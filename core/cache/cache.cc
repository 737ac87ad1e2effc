#include "core/cache/cache.h"

#include <algorithm>

#include "core/check.h"

namespace berth {

const NodeInfo* Snapshot::find(const std::string& node) const {
  auto found = index_.find(node);
  return found == index_.end() ? nullptr : nodes_[found->second].get();
}

NodeInfo& Cache::touch(const std::string& node) {
  std::shared_ptr<NodeInfo>& info = nodes_[node];
  if (info == nullptr) {
    info = std::make_shared<NodeInfo>();
    ++structure_;
  } else if (info.use_count() > 1) {
    info = std::make_shared<NodeInfo>(*info);  // a snapshot still reads the old one
  }
  info->generation = ++generation_;
  return *info;
}

void Cache::drop_if_empty(const std::string& node) {
  auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  const NodeInfo& info = *found->second;
  if (info.node != nullptr || !info.pods.empty() || !info.charges.empty()) return;
  nodes_.erase(found);
  ++structure_;
}

void Cache::set_node(std::shared_ptr<const Node> node) {
  const std::string name = node->metadata.name;
  NodeInfo& info = touch(name);
  if (info.node == nullptr) ++structure_;
  info.allocatable = to_resources(node->allocatable);
  info.node = std::move(node);
}

void Cache::remove_node(const std::string& name) {
  if (!nodes_.contains(name)) return;
  NodeInfo& info = touch(name);
  info.node = nullptr;
  info.allocatable = {};
  ++structure_;
  drop_if_empty(name);
}

void Cache::add_to(const std::string& node, const std::shared_ptr<const Pod>& pod) {
  NodeInfo& info = touch(node);
  info.pods.push_back(pod);
  info.requested.add(pod_requests(*pod));
}

void Cache::take_from(const std::string& node, const std::string& uid) {
  NodeInfo& info = touch(node);
  auto found = std::find_if(info.pods.begin(), info.pods.end(), [&](const auto& pod) { return pod->uid() == uid; });
  CHECK(found != info.pods.end());
  info.requested.subtract(pod_requests(**found));
  info.pods.erase(found);
  drop_if_empty(node);
}

Status Cache::assume(std::shared_ptr<const Pod> pod, const std::string& node) {
  const std::string uid = pod->uid();
  if (pods_.contains(uid)) return Status::error("pod " + pod->metadata.key() + " is in the cache already");
  add_to(node, pod);
  pods_[uid] = {std::move(pod), node, true};
  return Status::ok();
}

void Cache::confirm(std::shared_ptr<const Pod> pod, const std::string& node) {
  const std::string uid = pod->uid();
  auto found = pods_.find(uid);
  if (found != pods_.end()) take_from(found->second.node, uid);
  add_to(node, pod);
  pods_[uid] = {std::move(pod), node, false};
}

void Cache::forget(const std::string& uid) {
  if (is_assumed(uid)) remove(uid);
}

void Cache::remove(const std::string& uid) {
  auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  take_from(found->second.node, uid);
  pods_.erase(found);
}

void Cache::update(std::shared_ptr<const Pod> pod) {
  auto found = pods_.find(pod->uid());
  if (found == pods_.end()) return;
  take_from(found->second.node, pod->uid());
  add_to(found->second.node, pod);
  found->second.pod = std::move(pod);
}

void Cache::charge(const std::string& node, const std::string& key, const Resources& amount) {
  discharge(node, key);
  NodeInfo& info = touch(node);
  info.charges[key] = amount;
  info.requested.add(amount);
}

void Cache::discharge(const std::string& node, const std::string& key) {
  auto found = nodes_.find(node);
  if (found == nodes_.end() || !found->second->charges.contains(key)) return;
  NodeInfo& info = touch(node);
  info.requested.subtract(info.charges.at(key));
  info.charges.erase(key);
  drop_if_empty(node);
}

bool Cache::is_assumed(const std::string& uid) const {
  auto found = pods_.find(uid);
  return found != pods_.end() && found->second.assumed;
}

std::optional<std::string> Cache::node_of(const std::string& uid) const {
  auto found = pods_.find(uid);
  return found == pods_.end() ? std::nullopt : std::optional(found->second.node);
}

void Cache::update_snapshot(Snapshot& snapshot) const {
  if (snapshot.generation_ == generation_ && snapshot.structure_ == structure_) return;
  if (snapshot.structure_ != structure_) {
    snapshot.nodes_.clear();
    snapshot.index_.clear();
    for (const auto& [name, info] : nodes_) {
      if (info->node == nullptr) continue;
      snapshot.index_[name] = snapshot.nodes_.size();
      snapshot.nodes_.push_back(info);
    }
  } else {
    for (const auto& [name, index] : snapshot.index_) {
      const std::shared_ptr<NodeInfo>& info = nodes_.at(name);
      if (info->generation > snapshot.generation_) snapshot.nodes_[index] = info;
    }
  }
  snapshot.generation_ = generation_;
  snapshot.structure_ = structure_;
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
