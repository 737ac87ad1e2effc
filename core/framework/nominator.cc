#include "core/framework/nominator.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"

namespace berth {

void Nominator::add(PodPtr pod, std::string_view node) {
  remove(pod->uid());
  if (node.empty()) return;
  node_of_.insert_or_assign(pod->uid(), node);
  by_node_.try_emplace(std::string(node)).first->second.push_back(std::move(pod));
}

void Nominator::remove(std::string_view uid) {
  const auto found = node_of_.find(uid);
  if (found == node_of_.end()) return;
  const auto there = by_node_.find(found->second);
  std::erase_if(there->second, [&uid](const auto& pod) { return pod->uid() == uid; });
  if (there->second.empty()) by_node_.erase(there);
  node_of_.erase(found);
}

void Nominator::replace(const PodPtr& pod) {
  const auto found = node_of_.find(pod->uid());
  if (found == node_of_.end()) return;
  for (auto& each : by_node_[found->second]) {
    if (each->uid() == pod->uid()) each = pod;
  }
}

std::string Nominator::node_of(std::string_view uid) const {
  const auto found = node_of_.find(uid);
  return found == node_of_.end() ? std::string() : found->second;
}

const std::vector<PodPtr>& Nominator::pods_on(std::string_view node) const {
  static const std::vector<PodPtr> kNone;
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? kNone : found->second;
}

}  // namespace berth
