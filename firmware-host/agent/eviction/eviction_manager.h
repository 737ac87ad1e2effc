// EvictionManager: looks at what is free, tells what the node is short of, and ends one pod after the other until there
// is enough (pkg/kubelet/eviction/eviction_manager.go). For the disk it first removes what nobody needs: unused images,
// and files of pods that have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/agent/reports.h"
#include "core/clock.h"
#include "core/timers.h"
#include "firmware-host/agent/eviction/pod_ranking.h"
#include "firmware-host/agent/eviction/pressure_watch.h"
#include "firmware-host/agent/eviction/storage_watch.h"
#include "firmware-host/agent/eviction_record.h"

namespace berth {

class EvictionManager {
 public:
  static constexpr Millis kPeriodMs = StorageWatch::kPeriodMs;
  static constexpr Millis kSoonMs = 1000;       // while a pod is to be ended
  static constexpr Millis kCleanupMs = 30'000;  // podCleanupTimeout: for a pod that was ended, before the next one is
  // A pod with less than this part of what has to be free is not ended for the disk: that would gain nothing. An empty
  // directory takes a block, too.
  static constexpr std::int64_t kLeastPart = 1000;

  struct World {
    std::function<Observations()> observe;
    std::function<void(const StorageWatch::Visit&)> for_each_running;
    // Fills in what a pod uses of memory or processes.
    std::function<void(PodUse& pod, EvictionSignal signal)> measure;
    std::function<Status(const Tag& tag, const Eviction& eviction)> evict;
    std::function<bool()> is_evicting;      // a pod is being ended
    std::function<bool()> is_removing;      // files of pods that have ended are being deleted
    std::function<void()> remove_unneeded;  // from the disk; may go on behind
    std::function<void(std::vector<NodePressure>)> tell;
  };

  // References outlive it.
  EvictionManager(World world, EvictionSettings settings, StorageWatch& storage, const Clock& clock, Timers& timers);
  ~EvictionManager() { timers_.cancel(timer_); }
  EvictionManager(const EvictionManager&) = delete;
  EvictionManager& operator=(const EvictionManager&) = delete;

  // Once; each look plans the next.
  void look();
  // Whether the pod may come now; its manifest.
  Status admit(const std::string& pod) const;

 private:
  void tell();
  // True: it is to be looked at again soon.
  bool act();
  std::vector<PodUse> uses(EvictionSignal signal) const;

  const World world_;
  const Millis soft_grace_ms_;
  PressureWatch watch_;
  StorageWatch& storage_;
  const Clock& clock_;
  Timers& timers_;
  Timers::Id timer_ = 0;
  std::vector<NodePressure> told_;
  bool has_removed_ = false;  // what nobody needs, since a pod was last ended for the disk
  Millis busy_since_ = 0;     // the last time that a pod was ended, or that files were removed
};

}  // namespace berth
