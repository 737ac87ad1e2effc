// StorageWatch: measures what pods have on the disk, one after the other and in short steps, and tells which have more
// than they may. Only pods with a limit are looked at, unless all are asked for.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/timers.h"
#include "firmware-host/agent/eviction/pod_disk.h"

namespace berth {

class StorageWatch {
 public:
  // monitoringInterval of pkg/kubelet/eviction: between the end of a round and the next one.
  static constexpr Millis kPeriodMs = 10'000;
  // A step takes a fraction of a millisecond; in between others have their turn.
  static constexpr int kEntriesAtOnce = 256;
  static constexpr Millis kPauseMs = 5;
  // For one pod in one round, which is a million files at most. One that makes files faster than they are looked at
  // would otherwise keep all others from being measured, and the node from ending any for its full disk.
  static constexpr Millis kMostMs = 20'000;

  using Visit = std::function<void(const Tag& tag, const std::string& directory, const std::string& manifest)>;
  struct World {
    std::function<void(const Visit&)> for_each_running;
    std::function<void(const Tag& tag, const std::string& why)> exceeds;  // called once a round at most
  };

  // References outlive it.
  StorageWatch(World world, const Clock& clock, Timers& timers);
  ~StorageWatch();
  StorageWatch(const StorageWatch&) = delete;
  StorageWatch& operator=(const StorageWatch&) = delete;

  // Once; each round plans the next.
  void begin();
  // While set, all pods that run are measured.
  void measure_all(bool all);
  // As last measured; null: it was not.
  const PodDisk* of(const Tag& tag) const;
  // A round begins from its start now.
  void measure_again();
  // How many rounds have looked at all pods since measure_all(true), or measure_again().
  int full_rounds() const { return full_rounds_; }

 private:
  struct Entry {
    Tag tag;
    std::string directory;
    std::string manifest;
  };
  void later(Millis delay, void (StorageWatch::*next)());
  void begin_round();
  void step();
  void end_pod(PodDisk disk);
  void take(const Entry& entry, PodDisk disk);

  const World world_;
  const Clock& clock_;
  Timers& timers_;
  Timers::Id timer_ = 0;
  bool all_ = false;
  bool round_is_full_ = false;
  int full_rounds_ = 0;
  std::vector<Entry> left_;  // of this round; the last is being measured
  std::optional<PodDiskMeter> meter_;
  Millis meter_since_ = 0;
  std::set<Tag> late_;  // were not measured to their end; they are the last of a round
  Json spec_;           // of that one
  std::map<Tag, PodDisk> measured_;
};

}  // namespace berth
