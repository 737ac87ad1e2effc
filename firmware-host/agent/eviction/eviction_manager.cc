#include "firmware-host/agent/eviction/eviction_manager.h"

#include <algorithm>
#include <utility>

#include "core/json/members.h"

namespace berth {

EvictionManager::EvictionManager(World world, EvictionSettings settings, StorageWatch& storage, const Clock& clock,
                                 Timers& timers)
    : world_(std::move(world)),
      soft_grace_ms_(settings.max_pod_grace_ms),
      watch_(std::move(settings)),
      storage_(storage),
      clock_(clock),
      timers_(timers) {}

void EvictionManager::look() {
  watch_.observe(world_.observe(), clock_.now());
  storage_.measure_all(watch_.is_disk_short());
  if (!watch_.is_disk_short()) has_removed_ = false;
  tell();
  const bool is_soon = act();
  timers_.cancel(timer_);
  timer_ = timers_.at(clock_.now() + (is_soon ? kSoonMs : kPeriodMs), [this] { look(); });
}

void EvictionManager::tell() {
  std::vector<NodePressure> pressures;
  for (const std::string& type : watch_.conditions()) {
    const auto known = std::find_if(told_.begin(), told_.end(), [&](const auto& each) { return each.type == type; });
    pressures.push_back({type, known == told_.end() ? clock_.wall() : known->since});
  }
  if (pressures == told_) return;
  told_ = pressures;
  world_.tell(std::move(pressures));
}

bool EvictionManager::act() {
  const std::optional<PressureWatch::Due>& due = watch_.due();
  if (!due) return false;
  const bool is_disk = is_of_disk(due->signal);
  const bool is_busy = world_.is_evicting() || (is_disk && world_.is_removing());
  if (is_busy && clock_.now() - busy_since_ < kCleanupMs) return true;
  if (is_disk) {
    if (!std::exchange(has_removed_, true)) {
      world_.remove_unneeded();
      storage_.measure_again();
      busy_since_ = clock_.now();
      return false;  // which takes a while; so does measuring what pods have
    }
    if (storage_.full_rounds() == 0) return true;
    has_removed_ = false;
  }
  std::vector<PodUse> pods = uses(due->signal);
  // Those that are not measured too: they have just come, or the disk cannot be read.
  const auto has_little = [&](const PodUse& pod) { return pod.used.value_or(0) <= due->threshold / kLeastPart; };
  if (is_disk) std::erase_if(pods, has_little);
  for (const PodUse& pod : rank_pods(std::move(pods), due->signal)) {
    const Eviction eviction{eviction_message(*due, pod), due->is_hard ? Eviction::kAtOnceMs : soft_grace_ms_};
    if (!world_.evict(pod.tag, eviction).is_success()) continue;
    busy_since_ = clock_.now();
    return true;
  }
  return false;
}

std::vector<PodUse> EvictionManager::uses(EvictionSignal signal) const {
  std::vector<PodUse> pods;
  world_.for_each_running([&](const Tag& tag, const std::string&, const std::string& text) {
    const Result<Json> manifest = Json::parse(text);
    if (!manifest) return;
    PodUse pod = pod_use_of(tag, member(*manifest, "spec"), signal);
    if (!is_of_disk(signal)) {
      world_.measure(pod, signal);
    } else if (const PodDisk* disk = storage_.of(tag)) {
      const bool is_bytes = signal == EvictionSignal::nodefs_available;
      pod.used = is_bytes ? disk->total() : disk->inodes;
      if (is_bytes) pod.containers = disk->containers;
    }
    pods.push_back(std::move(pod));
  });
  return pods;
}

Status EvictionManager::admit(const std::string& pod) const {
  const std::vector<std::string> conditions = watch_.conditions();
  if (conditions.empty()) return Status::ok();
  const Result<Json> manifest = Json::parse(pod);
  return manifest ? admit_under_pressure(conditions, member(*manifest, "spec")) : Status::ok();
}

}  // namespace berth
