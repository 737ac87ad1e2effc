// RecentEvents: what a device tells of a pod as Kubernetes' events: the newest few, which travel with the pod's status
// (`events`), so that they wait while there is no link, and cost no message of their own beside a change of it.
//
// Limited as by client-go (tools/record/events_cache.go, EventSourceObjectSpamFilter): a burst, then one in five
// minutes; an equal one that was told in the last five minutes counts as the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/json/json.h"

namespace berth {

struct PodEvent {
  std::string id;  // no other event of this pod has it
  bool is_warning = false;
  std::string reason;
  std::string message;
};

class RecentEvents {
 public:
  static constexpr std::size_t kMost = 8;
  static constexpr std::size_t kMessageBytesMax = 512;
  static constexpr int kBurst = 10;
  static constexpr Millis kRefillMs = 300'000;

  // `mark`: tells its events from those that another process, or part of one, tells of the same pod.
  explicit RecentEvents(std::string mark) : mark_(std::move(mark)) {}

  // False: it is not told, or was just before. `now`: of the boot-time clock.
  bool add(Millis now, bool is_warning, const std::string& reason, std::string message);
  // Whether there are other ones than at the last call.
  bool take_changed() { return std::exchange(has_changed_, false); }
  // Oldest first.
  const std::vector<PodEvent>& list() const { return events_; }

 private:
  bool take_token(Millis now);

  std::string mark_;
  std::vector<PodEvent> events_;
  std::vector<Millis> times_;  // of events_
  double tokens_ = kBurst;
  Millis refilled_at_ = 0;
  Millis last_id_ = 0;
  bool has_changed_ = false;
};

// [{"id", "type" if it is Warning, "reason", "message"}]
Json events_json(const std::vector<PodEvent>& events);
std::vector<PodEvent> read_events(const Json& list);
// A podStatus as text, with these events before its own, the newest RecentEvents::kMost of all. What cannot be read,
// or is too long to have them, stays as it is.
std::string with_events(const std::string& status, const std::vector<PodEvent>& events);

}  // namespace berth
