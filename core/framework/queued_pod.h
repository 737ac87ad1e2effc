// QueuedPod: a pod on its way to a node, and what the queue remembers of its attempts
// (kube-scheduler framework/types.go QueuedPodInfo).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "core/api/objects.h"
#include "core/clock.h"

namespace berth {

// What a pod keeps of its attempts over a restart. Points in time are on the clock's scale; after a reboot that scale
// begins anew, and later ones count as now.
struct QueuePosition {
  Millis timestamp = 0;  // as QueuedPod
  int attempts = 0;
  int unschedulable_count = 0;
  int consecutive_errors = 0;
  Millis initial_attempt = -1;
  bool operator==(const QueuePosition&) const = default;
};

struct QueuedPod {
  std::shared_ptr<const Pod> pod;
  Millis timestamp = 0;        // when it entered the queue this time; the second key of PrioritySort
  std::uint64_t sequence = 0;  // grows with every entry: breaks ties of equal timestamps
  int attempts = 0;
  int unschedulable_count = 0;
  int consecutive_errors = 0;
  Millis initial_attempt = -1;  // -1: none yet
  std::int64_t began_us = -1;   // clock at the begin of the present attempt; -1: none in this run
  std::set<std::string> unschedulable_plugins;
  std::set<std::string> pending_plugins;
  std::string gating_plugin;         // empty: not gated
  std::uint64_t event_sequence = 0;  // taken at pop: events after it are replayed when the pod comes back
};

}  // namespace berth
