// Queue: which pod is next, and when a rejected one comes back (kube-scheduler backend/queue/scheduling_queue.go).
//
//   add ─▶ [PreEnqueue] ─▶ active ─pop─▶ in flight ─done─▶ (binding)
//              │ gated        ▲             │ requeue
//              ▼              │ expiry      ▼
//            gated         backoff ◀─ event ─ unschedulable
//
// Instead of upstream's list of in-flight events, pop takes an event sequence number; events since are read from a
// bounded ring, and a pod older than the ring counts as woken. Seconds are those of wall time, as at the start: a clock
// that is set later moves no backoff.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/framework/events.h"
#include "core/framework/nominator.h"
#include "core/framework/queued_pod.h"
#include "core/queue/backoff.h"
#include "core/queue/event_ring.h"
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
    Metrics* metrics = nullptr;  // null: nothing is counted; outlives the queue
  };
  enum class Where { none, gated, active, backoff, unschedulable, in_flight };

  // `framework_of` gives the profile of a pod; never null for pods that are added. Both outlive the queue.
  Queue(const Clock& clock, std::function<const Framework*(const Pod&)> framework_of, Options options);

  void add(std::shared_ptr<const Pod> pod);
  // As add(), for a pod of an earlier run: it keeps its place in the order, its attempts and the rest of its backoff.
  // Rejected or not it is tried again: what happened since is not known.
  void restore(std::shared_ptr<const Pod> pod, const QueuePosition& kept);
  // The pods that came back from an attempt since they were last asked for, at most `most` of them; each once.
  std::vector<Text> take_returned(std::size_t most);
  // The object changed while it waits; may wake it (labels, tolerations, gates). Unknown pods are added.
  void update(const std::shared_ptr<const Pod>& old_pod, std::shared_ptr<const Pod> new_pod);
  // Out of every queue, and its nomination gone. A pod in flight stays in flight until done() or requeue().
  void withdraw(std::string_view uid);
  void remove(std::string_view uid);  // withdraw and done

  // The next pod to try, in flight from now on; none when nothing may be tried yet. Takes unexpired pods from backoff
  // (never from error backoff) when active is empty.
  std::optional<QueuedPod> pop();
  // Ends the flight: the pod goes on to its binding.
  void done(std::string_view uid);
  // Brings a popped pod back after a failed attempt or binding. `status` rejected: its plugins decide what wakes it;
  // error: error backoff. Events since its pop are replayed, so that no wake-up is lost.
  void requeue(QueuedPod pod, const Status& status, const std::set<std::string>& unschedulable_plugins,
               const std::set<std::string>& pending_plugins);
  // Which pods an event may wake at all; empty: all of them.
  using PreCheck = std::function<bool(const Pod& pod)>;
  // Something happened: wakes the rejected pods whose plugins' hints say queue. `pre_check` is not asked again when the
  // event is replayed for a pod in flight.
  void move_all(const ClusterEvent& event, const EventObjects& objects, const PreCheck& pre_check = {});
  // Moves the listed pods to active whatever their backoff; for one in flight it counts as an event.
  void activate(const std::vector<std::string>& uids);
  // Moves expired backoffs (each second) and pods unschedulable for 5 minutes (each 30 s). Cheap when nothing is due.
  void flush();
  // When flush() may next have something to do; none when the queue waits for events alone.
  std::optional<Millis> next_flush() const;

  Nominator& nominator() { return nominator_; }
  const Nominator& nominator() const { return nominator_; }

  Where where(std::string_view uid) const;
  // Null when the queue does not hold it (in flight included).
  const QueuedPod* find(std::string_view uid) const;
  // When time alone brings the pod to active, on the clock's scale; now or earlier: it is its turn. None: gated, in
  // flight or not held. An event, or a queue with nothing active, may be sooner.
  std::optional<Millis> due(std::string_view uid) const;
  // True while it backs off from an error: neither an event nor an idle queue is sooner.
  bool is_error_backoff(std::string_view uid) const;
  struct Counts {
    std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0, in_flight = 0;
  };
  // Everything held, each in its order: active and backoff as pop() would take them, error backoff by its end, pods
  // that wait by uid, those in flight as they were popped.
  struct Content {
    std::vector<const QueuedPod*> active, backoff, error_backoff, unschedulable, gated;
    std::vector<std::string> in_flight;
    std::size_t in_flight_events = 0;
  };
  Content content() const;
  // End of the pod's backoff on the clock's scale, gone by or not; none when it has none.
  std::optional<Millis> backoff_end(const QueuedPod& pod) const;
  Counts counts() const;
  // What is kept for pods in flight: how many events, by label.
  std::map<std::string_view, std::size_t> in_flight_events() const;
  bool has_active() const;  // true when pop() would give a pod
  // Every uid held, in flight included, sorted.
  std::vector<std::string> uids() const;

 private:
  struct Entry;
  struct UidOrder {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  // What an event means for a rejected pod.
  enum class Wake { no, after_backoff, at_once };
  struct Entry {
    QueuedPod queued;
    const Framework* framework = nullptr;
    Where where = Where::none;
    bool error_backoff = false;
    Millis backoff_until = 0;
    std::set<Entry*, UidOrder>* waits_with = nullptr;  // part of unschedulable_ or gated_
  };
  struct ActiveOrder {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct BackoffOrder {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct Flight {
    std::uint64_t event_sequence = 0;
    std::shared_ptr<const Pod> updated;  // null: the object did not change since pop
    std::uint64_t order = 0;             // of the pop
  };
  using BackoffSet = std::set<Entry*, BackoffOrder>;

  Entry& insert(QueuedPod queued);
  void erase(std::string_view uid);  // detached
  void detach(Entry& entry);         // out of the place it is in; stays in entries_
  // `event`, of these: its label, for the metrics.
  void put_active(Entry& entry, std::string_view event);
  void put_backoff(Entry& entry, bool is_error, std::string_view event);
  // Puts a detached entry where `wake` sends it, through PreEnqueue when it is to be tried. `renominate`: one that gets
  // to active is nominated as its status says.
  void place(Entry& entry, Wake wake, std::string_view event, bool renominate = false);
  void count(std::string_view queue, std::string_view event);
  bool pass_pre_enqueue(Entry& entry);
  bool is_of_interest(const ClusterEvent& event) const;
  bool hears_while_gated(const Entry& entry, const ClusterEvent& event) const;
  void put_waiting(Entry& entry, bool gated);
  Hint ask(const EventWithHint& asked, std::string_view plugin, const Entry& entry, const ClusterEvent& event,
           const EventObjects& objects) const;
  Wake judge(const Entry& entry, const ClusterEvent& event, const EventObjects& objects) const;
  Wake replay(const Entry& entry, std::uint64_t since) const;
  void record(const ClusterEvent& event, const EventObjects& objects);
  void end_flight(std::string_view uid);
  void update_waiting(Entry& entry, const std::vector<ClusterEvent>& events, const EventObjects& objects);
  void flush_backoff(BackoffSet& backoff);
  void flush_unschedulable();

  const Clock& clock_;
  std::function<const Framework*(const Pod&)> framework_of_;
  Options options_;
  Backoff backoff_rule_;
  EventRing ring_;
  Nominator nominator_;
  // Pods come in thousands, and what is kept of them while they wait would lie between what is kept of them for months:
  // it has memory of its own, which is given back as a whole when nothing waits.
  std::pmr::unsynchronized_pool_resource memory_;
  std::size_t most_entries_ = 0;                               // since that was done
  std::pmr::map<Text, Entry, std::less<>> entries_{&memory_};  // by uid; in-flight pods are not here
  std::pmr::set<Entry*, ActiveOrder> active_{&memory_};
  BackoffSet backoff_;
  BackoffSet error_backoff_;
  std::set<Entry*, UidOrder> unschedulable_;
  // By profile and gating plugin: an event that this plugin has no ear for costs nothing, however many it gates.
  std::map<std::pair<std::string, std::string>, std::set<Entry*, UidOrder>> gated_;
  std::pmr::unsynchronized_pool_resource flight_memory_;  // never given back: few are in flight at one time
  std::pmr::map<Text, Flight, std::less<>> in_flight_{&flight_memory_};  // by uid
  std::set<Text, std::less<>> returned_;                                 // for take_returned(); all in entries_
  std::set<const Framework*> frameworks_;                                // of the pods that were ever here
  std::uint64_t last_sequence_ = 0;
  std::uint64_t pops_ = 0;
  Millis unschedulable_flush_at_ = 0;
};

}  // namespace berth
