// Queue: which pod is next, and when a rejected one comes back (kube-scheduler backend/queue/scheduling_queue.go).
//
//   add ─▶ [PreEnqueue] ─▶ active ─pop─▶ in flight ─done─▶ (binding)
//              │ gated        ▲             │ requeue
//              ▼              │ expiry      ▼
//            gated         backoff ◀─ event ─ unschedulable
//
// Instead of upstream's list of in-flight events, pop takes an event sequence number; events since are read from a
// bounded ring, and a pod older than the ring counts as woken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/framework/events.h"
#include "core/queue/queued_pod.h"
#include "core/status.h"

namespace berth {

class Framework;

class Queue {
 public:
  struct Options {
    Millis initial_backoff_ms = 1000;
    Millis max_backoff_ms = 10000;
    Millis unschedulable_timeout_ms = 5 * 60 * 1000;
    std::size_t event_ring = 4096;
  };
  enum class Where { none, gated, active, backoff, unschedulable, in_flight };

  // `framework_of` gives the profile of a pod; never null for pods that are added. Both outlive the queue.
  Queue(const Clock& clock, std::function<const Framework*(const Pod&)> framework_of, Options options);

  void add(std::shared_ptr<const Pod> pod);
  // The object changed while it waits; may wake it (labels, tolerations, gates). Unknown pods are added.
  void update(std::shared_ptr<const Pod> old_pod, std::shared_ptr<const Pod> new_pod);
  void remove(const std::string& uid);  // wherever it is; also ends its flight

  // The next pod to try, in flight from now on; none when nothing may be tried yet. Takes unexpired pods from backoff
  // (never from error backoff) when active is empty.
  std::optional<QueuedPod> pop();
  // Ends the flight: the pod goes on to its binding.
  void done(const std::string& uid);
  // Brings a popped pod back after a failed attempt or binding. `status` rejected: its plugins decide what wakes it;
  // error: error backoff. Events since its pop are replayed, so that no wake-up is lost.
  void requeue(QueuedPod pod, const Status& status, const std::set<std::string>& unschedulable_plugins,
               const std::set<std::string>& pending_plugins);
  // Something happened: wakes the rejected pods whose plugins' hints say queue.
  void move_all(const ClusterEvent& event, const EventObjects& objects);
  // Moves the listed pods to active.
  void activate(const std::vector<std::string>& uids);
  // Moves expired backoffs (each second) and pods unschedulable for 5 minutes (each 30 s). Cheap when nothing is due.
  void flush();
  // When flush() may next have something to do; none when the queue waits for events alone.
  std::optional<Millis> next_flush() const;

  Where where(const std::string& uid) const;
  // Null when the queue does not hold it (in flight included).
  const QueuedPod* find(const std::string& uid) const;
  struct Counts {
    std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0;
  };
  Counts counts() const;
  bool has_active() const;
  // Every uid held, in flight included, sorted.
  std::vector<std::string> uids() const;
};

}  // namespace berth
