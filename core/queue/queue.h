// Queue: which pod is next, and when a rejected one is retried (kube-scheduler backend/queue/scheduling_queue.go).
//
//   add ─▶ [PreEnqueue] ─▶ active ─pop─▶ in flight ─done─▶ (binding)
//              │ gated        ▲             │ requeue
//              ▼              │ expiry      ▼
//            gated         backoff ◀─ event ─ unschedulable
//
// Instead of upstream's list of in-flight events, pop records an event sequence number; later events are read from a
// bounded ring, and a pod older than the ring is always retried. Backoff is aligned to seconds of wall time as it was
// at the start; setting the clock later does not affect it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/pod.h"
#include "core/clock.h"
#include "core/framework/events.h"
#include "core/framework/nominator.h"
#include "core/framework/queued_pod.h"
#include "core/queue/backoff.h"
#include "core/queue/in_flight_pods.h"
#include "core/queue/queue_entry.h"
#include "core/queue/queue_parts.h"
#include "core/queue/queueing_hints.h"
#include "core/status.h"
#include "core/text.h"

namespace berth {

class Framework;
struct Metrics;

class Queue {
 public:
  struct Options {
    Millis initial_backoff_ms = 1000;
    Millis max_backoff_ms = 10000;
    Millis unschedulable_timeout_ms = 5 * 60 * 1000;
    std::size_t event_ring = 4096;
    Metrics* metrics = nullptr;  // null: not counted; must outlive the queue
  };
  using Where = QueuePart;

  // `framework_of` returns the profile of a pod, never null for pods that are added. Both must outlive the queue.
  Queue(const Clock& clock, std::function<const Framework*(const Pod&)> framework_of, Options options);

  void add(PodPtr pod);
  // add() for a pod from before a restart: it keeps its position in the order, its attempts and the rest of its
  // backoff. It is retried even if it was rejected, since events may have been missed.
  void restore(PodPtr pod, const QueuePosition& kept);
  // Up to `most` of the pods that were requeued after an attempt since the last call, each once.
  std::vector<Text> take_returned(std::size_t most);
  // The object changed while it waits, which may requeue it (labels, tolerations, gates). Unknown pods are added.
  void update(const PodPtr& old_pod, PodPtr new_pod);
  // Removes the pod from every queue, and its nomination. A pod in flight stays so until done() or requeue().
  void remove(std::string_view uid);

  // The next pod to schedule, in flight from now on; none when no pod is ready. When active is empty, takes pods from
  // backoff before they expire (never from error backoff).
  std::optional<QueuedPod> pop();
  const Pod* next() const;     // that pop() would return; null: none
  void prefetch_next() const;  // pop() reads the pod soon
  // The pod is no longer in flight: it goes on to its binding.
  void done(std::string_view uid);
  // Requeues a popped pod after a failed attempt or binding. `status` rejected: events of its plugins retry it; error:
  // error backoff. Events since its pop are replayed, so that none is missed.
  void requeue(QueuedPod pod, const Status& status, const std::set<std::string>& unschedulable_plugins,
               const std::set<std::string>& pending_plugins);
  // Which pods an event may requeue at all; empty: all of them.
  using PreCheck = std::function<bool(const Pod& pod)>;
  // Handles an event: requeues the rejected pods for which a plugin's hint returns Queue. `pre_check` is not called
  // again when the event is replayed for a pod in flight.
  void move_all(const ClusterEvent& event, const EventObjects& objects, const PreCheck& pre_check = {});
  // Moves the pods to active regardless of backoff; for a pod in flight it is recorded as an event.
  void activate(const std::vector<std::string>& uids);
  // Moves pods whose backoff expired (every second) or that were unschedulable for 5 minutes (every 30 s). Cheap when
  // nothing is due.
  void flush();
  // When flush() may next have something to do; none when the queue only waits for events.
  std::optional<Millis> next_flush() const;

  Nominator& nominator() { return nominator_; }
  const Nominator& nominator() const { return nominator_; }

  Where where(std::string_view uid) const;
  // Null when the pod is not queued; a pod in flight is not.
  const QueuedPod* find(std::string_view uid) const;
  // When the pod moves to active without any event, on the clock's scale; now or earlier: it is active. None: gated, in
  // flight or unknown. An event, or a pop() while nothing is active, may come first.
  std::optional<Millis> due(std::string_view uid) const;
  // True while it backs off after an error: neither an event nor a pop() while nothing is active shortens that.
  bool is_error_backoff(std::string_view uid) const;
  struct Counts {
    std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0;
  };
  // All pods, each part in order: active and backoff in the order of pop(), error backoff by expiry, gated and
  // unschedulable pods by uid, those in flight in the order they were popped.
  struct Content {
    std::vector<const QueuedPod*> active, backoff, error_backoff, unschedulable, gated;
    std::vector<std::string> in_flight;
    std::size_t in_flight_events = 0;
  };
  Content content() const;
  // The end of the pod's backoff on the clock's scale, possibly in the past; none when it has no backoff.
  std::optional<Millis> backoff_end(const QueuedPod& pod) const;
  Counts counts() const;
  // The number of events kept for pods in flight, by label.
  std::map<std::string_view, std::size_t> in_flight_events() const { return in_flight_.event_counts(); }
  // The uids of all pods, including those in flight, sorted.
  std::vector<std::string> uids() const;

 private:
  QueueEntry& insert(QueuedPod queued);
  void erase(QueueEntry& entry);  // it must be detached
  // `event`: the label of the event, for the metrics.
  void put_active(QueueEntry& entry, std::string_view event);
  void put_backoff(QueueEntry& entry, bool is_error, std::string_view event);
  // Puts a detached entry into the part of the queue that `strategy` asks for, through PreEnqueue if it is to be
  // retried. `renominate`: if it becomes active, it is nominated to its status.nominatedNodeName.
  void enqueue(QueueEntry& entry, QueueingStrategy strategy, std::string_view event, bool renominate = false);
  void count(std::string_view queue, std::string_view event);
  bool pass_pre_enqueue(QueueEntry& entry);
  void update_waiting(QueueEntry& entry, const std::vector<ClusterEvent>& events, const EventObjects& objects);
  void flush_unschedulable();

  const Clock& clock_;
  std::function<const Framework*(const Pod&)> framework_of_;
  Options options_;
  Backoff backoff_rule_;
  QueueingHints hints_;
  Nominator nominator_;
  // Thousands of pods can arrive at once, and their short-lived queue entries would fragment the heap among long-lived
  // objects. So entries have a memory pool, which is released as a whole when the queue is empty.
  std::pmr::unsynchronized_pool_resource memory_;
  std::size_t most_entries_ = 0;    // peak since the last release
  QueueEntries entries_{&memory_};  // in-flight pods are not here
  QueueParts parts_{memory_};
  InFlightPods in_flight_;
  std::set<Text, std::less<>> returned_;  // for take_returned(); all in entries_
  std::uint64_t last_sequence_ = 0;
  Millis unschedulable_flush_at_ = 0;
};

}  // namespace berth
