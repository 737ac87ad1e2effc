#include "core/queue/queue.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"
#include "core/check.h"
#include "core/framework/framework.h"
#include "core/metrics.h"

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

bool Queue::ActiveOrder::operator()(const Entry* a, const Entry* b) const {
  if (a->framework->less(a->queued, b->queued)) return true;
  if (b->framework->less(b->queued, a->queued)) return false;
  return a->queued.sequence < b->queued.sequence;
}

bool Queue::UidOrder::operator()(const Entry* a, const Entry* b) const {
  return a->queued.pod->uid() < b->queued.pod->uid();
}

bool Queue::BackoffOrder::operator()(const Entry* a, const Entry* b) const {
  if (a->backoff_until != b->backoff_until) return a->backoff_until < b->backoff_until;
  return ActiveOrder()(a, b);
}

Queue::Queue(const Clock& clock, std::function<const Framework*(const Pod&)> framework_of, Options options)
    : clock_(clock),
      framework_of_(std::move(framework_of)),
      options_(options),
      backoff_rule_(options.initial_backoff_ms, options.max_backoff_ms, clock.now() - clock.wall() % 1000),
      ring_(options.event_ring),
      unschedulable_flush_at_(clock.now() + kUnschedulableFlushMs) {}

Queue::Entry& Queue::insert(QueuedPod queued) {
  Entry entry;
  entry.framework = framework_of_(*queued.pod);
  CHECK(entry.framework != nullptr);
  frameworks_.insert(entry.framework);
  queued.timestamp = clock_.now();
  queued.sequence = ++last_sequence_;
  const Text uid = queued.pod->metadata.uid;
  entry.queued = std::move(queued);
  auto [added, inserted] = entries_.emplace(uid, std::move(entry));
  CHECK(inserted);
  most_entries_ = std::max(most_entries_, entries_.size());
  return added->second;
}

void Queue::erase(std::string_view uid) {
  entries_.erase(entries_.find(uid));
  if (!entries_.empty() || most_entries_ < kManyEntries) return;
  CHECK(active_.empty());
  memory_.release();
  most_entries_ = 0;
}

void Queue::detach(Entry& entry) {
  switch (std::exchange(entry.where, Where::none)) {
    case Where::active: active_.erase(&entry); break;
    case Where::backoff: (entry.error_backoff ? error_backoff_ : backoff_).erase(&entry); break;
    case Where::gated:
    case Where::unschedulable: std::exchange(entry.waits_with, nullptr)->erase(&entry); break;
    case Where::none:
    case Where::in_flight: break;
  }
}

void Queue::count(std::string_view queue, std::string_view event) {
  if (options_.metrics != nullptr) options_.metrics->incoming_pods.at({queue, event}).add();
}

void Queue::put_active(Entry& entry, std::string_view event) {
  if (entry.queued.initial_attempt < 0) entry.queued.initial_attempt = clock_.now();
  entry.where = Where::active;
  active_.insert(&entry);
  count("active", event);
}

bool Queue::pass_pre_enqueue(Entry& entry) {
  QueuedPod& queued = entry.queued;
  const Status status = entry.framework->run_pre_enqueue(*queued.pod, queued.gating_plugin);
  queued.gating_plugin = status.plugin();  // empty on success
  if (!status.is_success()) queued.unschedulable_plugins.insert(status.plugin());
  return status.is_success();
}

void Queue::put_waiting(Entry& entry, bool gated) {
  entry.where = gated ? Where::gated : Where::unschedulable;
  entry.waits_with = &unschedulable_;
  if (gated) entry.waits_with = &gated_[{entry.framework->scheduler_name(), entry.queued.gating_plugin}];
  entry.waits_with->insert(&entry);
}

void Queue::enqueue(Entry& entry, Wake wake, std::string_view event, bool renominate) {
  QueuedPod& queued = entry.queued;
  const bool gated = wake == Wake::no ? !queued.gating_plugin.empty() : !pass_pre_enqueue(entry);
  if (wake == Wake::no || gated) {
    put_waiting(entry, gated);
    return count("unschedulable", event);
  }
  if (wake == Wake::at_once || !backoff_rule_.is_backing_off(queued, clock_.now())) {
    if (renominate) nominator_.add(queued.pod, queued.pod->nominated_node_name);
    return put_active(entry, event);
  }
  put_backoff(entry, queued.unschedulable_plugins.empty() && queued.pending_plugins.empty(), event);
}

void Queue::put_backoff(Entry& entry, bool is_error, std::string_view event) {
  entry.where = Where::backoff;
  entry.backoff_until = backoff_rule_.until(entry.queued);
  entry.error_backoff = is_error;
  (is_error ? error_backoff_ : backoff_).insert(&entry);
  count("backoff", event);
}

void Queue::add(std::shared_ptr<const Pod> pod) {
  std::string_view uid = pod->uid();
  if (auto known = entries_.find(uid); known != entries_.end()) {
    const std::shared_ptr<const Pod> before = known->second.queued.pod;
    return update(before, std::move(pod));
  }
  if (auto flight = in_flight_.find(uid); flight != in_flight_.end()) {
    flight->second.updated = std::move(pod);
    return;
  }
  QueuedPod queued;
  queued.pod = std::move(pod);
  enqueue(insert(std::move(queued)), Wake::at_once, kPodAdd, true);
}

void Queue::restore(std::shared_ptr<const Pod> pod, const QueuePosition& kept) {
  const Text uid = pod->uid();
  if (entries_.contains(uid) || in_flight_.contains(uid)) return add(std::move(pod));
  const Millis now = clock_.now();
  QueuedPod queued;
  queued.pod = std::move(pod);
  queued.attempts = kept.attempts;
  queued.unschedulable_count = kept.unschedulable_count;
  queued.consecutive_errors = kept.consecutive_errors;
  queued.initial_attempt = std::min(kept.initial_attempt, now);
  Entry& entry = insert(std::move(queued));
  entry.queued.timestamp = std::min(kept.timestamp, now);
  if (!pass_pre_enqueue(entry)) return enqueue(entry, Wake::no, kPodAdd);
  if (backoff_rule_.is_backing_off(entry.queued, now)) return put_backoff(entry, kept.consecutive_errors > 0, kPodAdd);
  nominator_.add(entry.queued.pod, entry.queued.pod->nominated_node_name);
  put_active(entry, kPodAdd);
}

std::vector<Text> Queue::take_returned(std::size_t most) {
  std::vector<Text> taken;
  while (taken.size() < most && !returned_.empty()) taken.push_back(returned_.extract(returned_.begin()).value());
  return taken;
}

void Queue::withdraw(std::string_view uid) {
  nominator_.remove(uid);
  if (auto found = entries_.find(uid); found != entries_.end()) {
    if (const auto back = returned_.find(uid); back != returned_.end()) returned_.erase(back);
    detach(found->second);
    erase(uid);  // last: `uid` may view the entry's own string
  }
}

void Queue::remove(std::string_view uid) {
  withdraw(uid);
  end_flight(uid);
}

std::optional<QueuedPod> Queue::pop() {
  if (!has_active()) return std::nullopt;
  if (active_.empty()) count("active", kPopFromBackoff);
  Entry& entry = active_.empty() ? **backoff_.begin() : **active_.begin();
  detach(entry);
  QueuedPod popped = std::move(entry.queued);
  const Text uid = popped.pod->metadata.uid;
  erase(uid);
  returned_.erase(uid);
  ++popped.attempts;
  popped.unschedulable_plugins.clear();
  popped.pending_plugins.clear();
  popped.gating_plugin.clear();
  popped.event_sequence = ring_.last();
  in_flight_.insert_or_assign(uid, Flight{popped.event_sequence, nullptr, ++pops_});
  return popped;
}

void Queue::done(std::string_view uid) { end_flight(uid); }

void Queue::end_flight(std::string_view uid) {
  if (in_flight_.erase(uid) == 0) return;
  std::uint64_t oldest = ring_.last();
  for (const auto& [other, flight] : in_flight_) oldest = std::min(oldest, flight.event_sequence);
  ring_.trim(oldest);
}

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
  const auto flight = in_flight_.find(uid);
  const bool was_in_flight = flight != in_flight_.end();
  const std::uint64_t since = was_in_flight ? flight->second.event_sequence : 0;
  if (was_in_flight && flight->second.updated != nullptr) pod.pod = flight->second.updated;
  Entry& entry = insert(std::move(pod));
  const Wake wake = was_in_flight ? replay(entry, since) : Wake::after_backoff;
  end_flight(uid);
  returned_.insert(uid);
  enqueue(entry, wake, kAttemptFailed);
}

void Queue::flush() {
  flush_backoff(backoff_);
  flush_backoff(error_backoff_);
  if (clock_.now() >= unschedulable_flush_at_) flush_unschedulable();
}

// Moves to active without PreEnqueue, which ran when the pod entered backoff.
void Queue::flush_backoff(BackoffSet& backoff) {
  while (!backoff.empty() && clock_.now() >= Backoff::free_at((*backoff.begin())->backoff_until)) {
    Entry& entry = **backoff.begin();
    detach(entry);
    put_active(entry, kBackoffComplete);
  }
}

void Queue::flush_unschedulable() {
  const Millis now = clock_.now();
  unschedulable_flush_at_ += ((now - unschedulable_flush_at_) / kUnschedulableFlushMs + 1) * kUnschedulableFlushMs;
  std::set<Text> stale;
  const auto find_stale = [&](const auto& entries) {
    for (const Entry* entry : entries) {
      const bool waited = now - entry->queued.timestamp > options_.unschedulable_timeout_ms;
      if (waited) stale.insert(entry->queued.pod->uid());
    }
  };
  find_stale(unschedulable_);
  for (const auto& [gate, entries] : gated_) find_stale(entries);
  if (stale.empty()) return;
  move_all(kTooLongUnschedulable, {}, [&stale](const Pod& pod) { return stale.contains(pod.uid()); });
}

std::optional<Millis> Queue::next_flush() const {
  std::optional<Millis> next;
  auto consider = [&next](Millis time) { next = next ? std::min(*next, time) : time; };
  if (!backoff_.empty()) consider(Backoff::free_at((*backoff_.begin())->backoff_until));
  if (!error_backoff_.empty()) consider(Backoff::free_at((*error_backoff_.begin())->backoff_until));
  const bool any_gated =
      std::any_of(gated_.begin(), gated_.end(), [](const auto& gate) { return !gate.second.empty(); });
  if (any_gated || !unschedulable_.empty()) consider(unschedulable_flush_at_);
  return next;
}

Queue::Where Queue::where(std::string_view uid) const {
  if (auto found = entries_.find(uid); found != entries_.end()) return found->second.where;
  return in_flight_.contains(uid) ? Where::in_flight : Where::none;
}

const QueuedPod* Queue::find(std::string_view uid) const {
  auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second.queued;
}

std::optional<Millis> Queue::due(std::string_view uid) const {
  auto found = entries_.find(uid);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  switch (entry.where) {
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
  return found != entries_.end() && found->second.where == Where::backoff && found->second.error_backoff;
}

Queue::Counts Queue::counts() const {
  Counts counts;
  counts.active = active_.size();
  counts.backoff = backoff_.size() + error_backoff_.size();
  counts.in_flight = in_flight_.size();
  counts.unschedulable = unschedulable_.size();
  for (const auto& [gate, entries] : gated_) counts.gated += entries.size();
  return counts;
}

std::map<std::string_view, std::size_t> Queue::in_flight_events() const {
  std::map<std::string_view, std::size_t> count;
  for (const EventRing::Item& item : ring_.items()) ++count[item.event.label];
  return count;
}

Queue::Content Queue::content() const {
  Content content;
  for (const Entry* entry : active_) content.active.push_back(&entry->queued);
  for (const Entry* entry : backoff_) content.backoff.push_back(&entry->queued);
  for (const Entry* entry : error_backoff_) content.error_backoff.push_back(&entry->queued);
  for (const Entry* entry : unschedulable_) content.unschedulable.push_back(&entry->queued);
  std::set<const Entry*, UidOrder> gated;
  for (const auto& [gate, entries] : gated_) gated.insert(entries.begin(), entries.end());
  for (const Entry* entry : gated) content.gated.push_back(&entry->queued);
  std::map<std::uint64_t, std::string> by_pop;
  for (const auto& [uid, flight] : in_flight_) by_pop.emplace(flight.order, uid);
  for (auto& [order, uid] : by_pop) content.in_flight.push_back(std::move(uid));
  content.in_flight_events = ring_.items().size();
  return content;
}

std::optional<Millis> Queue::backoff_end(const QueuedPod& pod) const {
  if (backoff_rule_.duration(pod) == 0) return std::nullopt;
  return backoff_rule_.until(pod);
}

bool Queue::has_active() const { return !active_.empty() || !backoff_.empty(); }

std::vector<std::string> Queue::uids() const {
  std::vector<std::string> uids;
  for (const auto& [uid, entry] : entries_) uids.emplace_back(uid);
  for (const auto& [uid, flight] : in_flight_) uids.emplace_back(uid);
  std::sort(uids.begin(), uids.end());
  return uids;
}

}  // namespace berth
