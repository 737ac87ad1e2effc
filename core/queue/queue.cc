#include "core/queue/queue.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"
#include "core/check.h"
#include "core/framework/framework.h"
#include "core/metrics.h"
#include "core/prefetch.h"

namespace berth {

namespace {
constexpr Millis kUnschedulableFlushMs = 30 * 1000;
constexpr std::size_t kManyEntries = 1000;  // enough for releasing their memory to pay off
// Causes of moves other than cluster events (kube-scheduler framework/events.go).
constexpr std::string_view kPodAdd = "UnschedulablePodAdd";
constexpr std::string_view kAttemptFailed = "ScheduleAttemptFailure";
constexpr std::string_view kBackoffComplete = "BackoffComplete";
constexpr std::string_view kPopFromBackoff = "PopFromBackoffQ";
constexpr ClusterEvent kTooLongUnschedulable{EventResource::wildcard, kAllActions, "UnschedulableTimeout"};
}  // namespace

Queue::Queue(const Clock& clock, std::function<const Framework*(const Pod&)> framework_of, Options options)
    : clock_(clock),
      framework_of_(std::move(framework_of)),
      options_(options),
      backoff_rule_(options.initial_backoff_ms, options.max_backoff_ms, clock.now() - clock.wall() % 1000),
      hints_(clock, options.metrics),
      in_flight_(options.event_ring),
      unschedulable_flush_at_(clock.now() + kUnschedulableFlushMs) {}

QueueEntry& Queue::insert(QueuedPod queued) {
  QueueEntry entry;
  entry.framework = framework_of_(*queued.pod);
  CHECK(entry.framework != nullptr);
  hints_.add_profile(*entry.framework);
  queued.timestamp = clock_.now();
  queued.sequence = ++last_sequence_;
  const Text uid = queued.pod->metadata.uid;
  entry.queued = std::move(queued);
  auto [added, inserted] = entries_.emplace(uid, std::move(entry));
  CHECK(inserted);
  added->second.place = added;
  most_entries_ = std::max(most_entries_, entries_.size());
  return added->second;
}

void Queue::erase(QueueEntry& entry) {
  entries_.erase(entry.place);
  if (!entries_.empty() || most_entries_ < kManyEntries) return;
  CHECK(parts_.active().empty());
  memory_.release();
  most_entries_ = 0;
}

void Queue::count(std::string_view queue, std::string_view event) {
  if (options_.metrics != nullptr) options_.metrics->incoming_pods.at({queue, event}).add();
}

void Queue::put_active(QueueEntry& entry, std::string_view event) {
  if (entry.queued.initial_attempt < 0) entry.queued.initial_attempt = clock_.now();
  parts_.put_active(entry);
  count("active", event);
}

bool Queue::pass_pre_enqueue(QueueEntry& entry) {
  QueuedPod& queued = entry.queued;
  const Status status = entry.framework->run_pre_enqueue(*queued.pod, queued.gating_plugin);
  queued.gating_plugin = status.plugin();  // empty on success
  if (!status.is_success()) queued.unschedulable_plugins.insert(status.plugin());
  return status.is_success();
}

void Queue::enqueue(QueueEntry& entry, QueueingStrategy strategy, std::string_view event, bool renominate) {
  QueuedPod& queued = entry.queued;
  const bool skipped = strategy == QueueingStrategy::skip;
  const bool gated = skipped ? !queued.gating_plugin.empty() : !pass_pre_enqueue(entry);
  if (skipped || gated) {
    if (gated) parts_.put_gated(entry);
    if (!gated) parts_.put_unschedulable(entry);
    return count("unschedulable", event);
  }
  if (strategy == QueueingStrategy::immediately || !backoff_rule_.is_backing_off(queued, clock_.now())) {
    if (renominate) nominator_.add(queued.pod, queued.pod->nominated_node_name);
    return put_active(entry, event);
  }
  put_backoff(entry, queued.unschedulable_plugins.empty() && queued.pending_plugins.empty(), event);
}

void Queue::put_backoff(QueueEntry& entry, bool is_error, std::string_view event) {
  parts_.put_backoff(entry, backoff_rule_.until(entry.queued), is_error);
  count("backoff", event);
}

void Queue::add(PodPtr pod) {
  std::string_view uid = pod->uid();
  if (auto known = entries_.find(uid); known != entries_.end()) {
    const PodPtr before = known->second.queued.pod;
    return update(before, std::move(pod));
  }
  if (in_flight_.contains(uid)) {
    in_flight_.update(uid, std::move(pod));
    return;
  }
  QueuedPod queued;
  queued.pod = std::move(pod);
  enqueue(insert(std::move(queued)), QueueingStrategy::immediately, kPodAdd, true);
}

void Queue::restore(PodPtr pod, const QueuePosition& kept) {
  const Text uid = pod->uid();
  if (entries_.contains(uid) || in_flight_.contains(uid)) return add(std::move(pod));
  const Millis now = clock_.now();
  QueuedPod queued;
  queued.pod = std::move(pod);
  queued.attempts = kept.attempts;
  queued.unschedulable_count = kept.unschedulable_count;
  queued.consecutive_errors = kept.consecutive_errors;
  queued.initial_attempt = std::min(kept.initial_attempt, now);
  QueueEntry& entry = insert(std::move(queued));
  entry.queued.timestamp = std::min(kept.timestamp, now);
  if (!pass_pre_enqueue(entry)) return enqueue(entry, QueueingStrategy::skip, kPodAdd);
  if (backoff_rule_.is_backing_off(entry.queued, now)) return put_backoff(entry, kept.consecutive_errors > 0, kPodAdd);
  nominator_.add(entry.queued.pod, entry.queued.pod->nominated_node_name);
  put_active(entry, kPodAdd);
}

std::vector<Text> Queue::take_returned(std::size_t most) {
  std::vector<Text> taken;
  while (taken.size() < most && !returned_.empty()) taken.push_back(returned_.extract(returned_.begin()).value());
  return taken;
}

void Queue::remove(std::string_view uid) {
  nominator_.remove(uid);
  if (auto found = entries_.find(uid); found != entries_.end()) {
    if (const auto back = returned_.find(uid); back != returned_.end()) returned_.erase(back);
    parts_.detach(found->second);
    erase(found->second);  // last: `uid` may view the entry's own string
  }
}

std::optional<QueuedPod> Queue::pop() {
  QueueEntry* first = parts_.first();
  if (first == nullptr) return std::nullopt;
  if (first->part == Where::backoff) count("active", kPopFromBackoff);
  parts_.detach(*first);
  std::optional<QueuedPod> popped(std::move(first->queued));
  const Text uid = popped->pod->metadata.uid;
  erase(*first);
  if (!returned_.empty()) returned_.erase(uid);
  ++popped->attempts;
  popped->unschedulable_plugins.clear();
  popped->pending_plugins.clear();
  popped->gating_plugin.clear();
  popped->event_sequence = in_flight_.begin(uid);
  if (const QueueEntry* next = parts_.first()) prefetch(*next);
  return popped;
}

const Pod* Queue::next() const {
  const QueueEntry* const first = parts_.first();
  return first == nullptr ? nullptr : first->queued.pod.get();
}

void Queue::prefetch_next() const {
  if (const Pod* const pod = next()) prefetch(*pod);
}

void Queue::done(std::string_view uid) { in_flight_.end(uid); }

void Queue::requeue(QueuedPod pod, const Status& status, const std::set<std::string>& unschedulable_plugins,
                    const std::set<std::string>& pending_plugins) {
  const Text uid = pod.pod->uid();
  if (entries_.contains(uid)) return;  // queued again already, by add() or update()
  pod.gating_plugin.clear();
  pod.unschedulable_plugins.clear();
  pod.pending_plugins.clear();
  if (status.is_rejected()) {
    pod.unschedulable_plugins = unschedulable_plugins;
    pod.unschedulable_plugins.insert(pending_plugins.begin(), pending_plugins.end());
    pod.pending_plugins = pending_plugins;
  }
  // After a rejection that names no plugin no event could requeue the pod: it counts as an error, as upstream.
  if (pod.unschedulable_plugins.empty()) {
    ++pod.consecutive_errors;
  } else {
    ++pod.unschedulable_count;
    pod.consecutive_errors = 0;
  }
  const InFlightPods::Flight* flight = in_flight_.find(uid);
  if (flight != nullptr && flight->updated != nullptr) pod.pod = flight->updated;
  QueueEntry& entry = insert(std::move(pod));
  QueueingStrategy strategy = QueueingStrategy::after_backoff;
  if (flight != nullptr) strategy = hints_.judge_since(entry, in_flight_.events(), flight->event_sequence);
  in_flight_.end(uid);
  returned_.insert(uid);
  enqueue(entry, strategy, kAttemptFailed);
}

void Queue::flush() {
  while (QueueEntry* expired = parts_.first_expired(clock_.now())) {
    parts_.detach(*expired);
    put_active(*expired, kBackoffComplete);  // PreEnqueue ran when the pod entered backoff
  }
  if (clock_.now() >= unschedulable_flush_at_) flush_unschedulable();
}

void Queue::flush_unschedulable() {
  const Millis now = clock_.now();
  unschedulable_flush_at_ += ((now - unschedulable_flush_at_) / kUnschedulableFlushMs + 1) * kUnschedulableFlushMs;
  std::set<Text> stale;
  const auto find_stale = [&](const auto& entries) {
    for (const QueueEntry* entry : entries) {
      const bool waited = now - entry->queued.timestamp > options_.unschedulable_timeout_ms;
      if (waited) stale.insert(entry->queued.pod->uid());
    }
  };
  find_stale(parts_.unschedulable());
  for (const auto& [gate, entries] : parts_.gates()) find_stale(entries);
  if (stale.empty()) return;
  move_all(kTooLongUnschedulable, {}, [&stale](const Pod& pod) { return stale.contains(pod.uid()); });
}

std::optional<Millis> Queue::next_flush() const {
  std::optional<Millis> next = parts_.next_expiry();
  if (parts_.has_waiting()) next = std::min(next.value_or(unschedulable_flush_at_), unschedulable_flush_at_);
  return next;
}

Queue::Where Queue::where(std::string_view uid) const {
  if (auto found = entries_.find(uid); found != entries_.end()) return found->second.part;
  return in_flight_.contains(uid) ? Where::in_flight : Where::none;
}

const QueuedPod* Queue::find(std::string_view uid) const {
  auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second.queued;
}

std::optional<Millis> Queue::due(std::string_view uid) const {
  auto found = entries_.find(uid);
  if (found == entries_.end()) return std::nullopt;
  const QueueEntry& entry = found->second;
  switch (entry.part) {
    case Where::active: return clock_.now();
    case Where::backoff: return Backoff::free_at(entry.backoff_until);
    case Where::unschedulable: {
      const Millis over = entry.queued.timestamp + options_.unschedulable_timeout_ms + 1;
      if (over <= unschedulable_flush_at_) return unschedulable_flush_at_;
      const Millis rounds = (over - unschedulable_flush_at_ + kUnschedulableFlushMs - 1) / kUnschedulableFlushMs;
      return unschedulable_flush_at_ + rounds * kUnschedulableFlushMs;
    }
    case Where::none:
    case Where::gated:
    case Where::in_flight: break;
  }
  return std::nullopt;
}

bool Queue::is_error_backoff(std::string_view uid) const {
  auto found = entries_.find(uid);
  return found != entries_.end() && found->second.part == Where::backoff && found->second.error_backoff;
}

Queue::Counts Queue::counts() const {
  Counts counts;
  counts.active = parts_.active().size();
  counts.backoff = parts_.backoff().size() + parts_.error_backoff().size();
  counts.in_flight = in_flight_.size();
  counts.unschedulable = parts_.unschedulable().size();
  for (const auto& [gate, entries] : parts_.gates()) counts.gated += entries.size();
  return counts;
}

Queue::Content Queue::content() const {
  Content content;
  for (const QueueEntry* entry : parts_.active()) content.active.push_back(&entry->queued);
  for (const QueueEntry* entry : parts_.backoff()) content.backoff.push_back(&entry->queued);
  for (const QueueEntry* entry : parts_.error_backoff()) content.error_backoff.push_back(&entry->queued);
  for (const QueueEntry* entry : parts_.unschedulable()) content.unschedulable.push_back(&entry->queued);
  std::set<const QueueEntry*, QueueEntry::UidOrder> gated;
  for (const auto& [gate, entries] : parts_.gates()) gated.insert(entries.begin(), entries.end());
  for (const QueueEntry* entry : gated) content.gated.push_back(&entry->queued);
  content.in_flight = in_flight_.uids_by_pop();
  content.in_flight_events = in_flight_.events().items().size();
  return content;
}

std::optional<Millis> Queue::backoff_end(const QueuedPod& pod) const {
  if (backoff_rule_.duration(pod) == 0) return std::nullopt;
  return backoff_rule_.until(pod);
}

std::vector<std::string> Queue::uids() const {
  std::vector<std::string> uids = in_flight_.uids();
  for (const auto& [uid, entry] : entries_) uids.emplace_back(uid);
  std::sort(uids.begin(), uids.end());
  return uids;
}

}  // namespace berth
