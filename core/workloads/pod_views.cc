#include "core/workloads/pod_views.h"

#include "core/workloads/pod_view.h"

namespace berth {

void PodViews::refresh(std::vector<ObjectChange>& changes) {
  for (const std::string& key : std::exchange(noted_, {})) refresh(key, changes);
}

void PodViews::refresh(const std::string& key, std::vector<ObjectChange>& changes) {
  const auto known = views_.find(key);
  ControlledPodPtr before = known == views_.end() ? nullptr : known->second;
  const PodEntry* entry = context_.objects.pods().find(key);
  const bool is_gone = entry == nullptr || (before != nullptr && before->metadata.uid != entry->pod->uid());
  if (before != nullptr && is_gone) {
    views_.erase(known);
    index(before, nullptr);
    changes.push_back({std::exchange(before, nullptr), nullptr});
  }
  if (entry == nullptr) return;
  const bool is_seen = concerns_(*entry->pod);
  if (!is_seen && before == nullptr) return;
  const OptionalTime asked = before == nullptr ? OptionalTime() : before->deletion_asked;
  ControlledPodPtr after = pod_view(*entry, state_, {context_.clock.now(), context_.clock.wall(), asked});
  const bool is_kept = is_seen || !after->metadata.finalizers.empty();
  index(before, is_kept ? after : nullptr);
  if (is_kept) {
    views_.insert_or_assign(key, after);
  } else {
    views_.erase(key);  // released: who controlled it hears of that, and then nobody cares
  }
  changes.push_back({std::move(before), std::move(after)});
}

void PodViews::index(const ControlledPodPtr& before, const ControlledPodPtr& after) {
  const auto owner_of = [](const ControlledPod& pod) {
    return Owner(pod.metadata.namespace_, pod.metadata.controller_uid);
  };
  if (before != nullptr) {
    const auto pods = pods_of_.find(owner_of(*before));
    if (after != nullptr && pods->first == owner_of(*after)) {
      auto node = pods->second.extract(before);
      node.value() = after;
      pods->second.insert(std::move(node));
      return;
    }
    pods->second.erase(before);
    if (pods->second.empty()) pods_of_.erase(pods);
  }
  if (after != nullptr) pods_of_[owner_of(*after)].insert(after);
}

ControlledPodPtr PodViews::find(const std::string& key) const {
  if (const auto found = views_.find(key); found != views_.end()) return found->second;
  const PodEntry* entry = context_.objects.pods().find(key);
  if (entry == nullptr) return nullptr;
  return pod_view(*entry, state_, {context_.clock.now(), context_.clock.wall(), {}});
}

std::vector<ObjectPtr> PodViews::list(std::string_view name_space) const {
  std::vector<ObjectPtr> found;
  for (const auto& [key, pod] : views_) {
    if (name_space.empty() || pod->metadata.namespace_ == name_space) found.push_back(pod);
  }
  return found;
}

std::vector<ControlledPodPtr> PodViews::of(std::string_view name_space, std::string_view uid) const {
  const auto pods = pods_of_.find(Owner(name_space, uid));
  std::vector<ControlledPodPtr> found;
  if (pods == pods_of_.end()) return found;
  found.reserve(pods->second.size());
  for (const ControlledPodPtr& pod : pods->second) found.push_back(pod);
  return found;
}

}  // namespace berth
