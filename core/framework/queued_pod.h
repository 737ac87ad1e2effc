// QueuedPod: a pod waiting to be scheduled, and the queue's bookkeeping of its attempts
// (kube-scheduler framework/types.go QueuedPodInfo).
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/api/pod.h"
#include "core/clock.h"

namespace berth {

// The part of a pod's bookkeeping that survives a restart. Times are on the clock's scale, which starts over at a
// reboot; times in the future then count as now.
struct QueuePosition {
  Millis timestamp = 0;  // as in QueuedPod
  int attempts = 0;
  int unschedulable_count = 0;
  int consecutive_errors = 0;
  Millis initial_attempt = -1;
  bool operator==(const QueuePosition&) const = default;
};

struct QueuedPod {
  PodPtr pod;
  Millis timestamp = 0;        // when it last entered the queue; the second sort key of PrioritySort
  std::uint64_t sequence = 0;  // increases with every entry: breaks ties between equal timestamps
  int attempts = 0;
  int unschedulable_count = 0;
  int consecutive_errors = 0;
  Millis initial_attempt = -1;  // -1: none yet
  std::int64_t began_us = -1;   // start of the current attempt; -1: none in this run
  std::set<std::string> unschedulable_plugins;
  std::set<std::string> pending_plugins;
  std::string gating_plugin;         // empty: not gated
  std::uint64_t event_sequence = 0;  // at pop: later events are replayed when the pod is requeued
};

}  // namespace berth
