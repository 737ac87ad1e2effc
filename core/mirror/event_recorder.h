// EventRecorder: what has happened to objects, for people: Kubernetes' Events. They are published on events/<ns> as
// they come, kept for an hour for `describe` and `get events`, and survive a restart.
//
// Equal events (object, type, reason, message) of one hour are one, counted, as client-go's EventCorrelator does. Those
// that a device causes are limited as there (tools/record/events_cache.go, EventSourceObjectSpamFilter): of each object
// ten, then one in five minutes. So is their number: a device that says the most different things pushes out its own
// events, and never those of others.
//
// On flash: the newest 256 that are to be saved, each as one record of some 300 bytes in Table::queue. They go beside
// something that is written anyway, at most once a minute, or at the end of that minute; and at a clean end. Events
// alone cause no write, and neither does a count: a pod that fits nowhere costs nothing. So a power cut takes those
// that came since something was last written; what still holds then is said again by the next start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/kind.h"
#include "core/clock.h"
#include "core/handshake/lists.h"
#include "core/handshake/topics.h"
#include "core/json/json.h"
#include "core/outbox.h"
#include "core/store.h"
#include "core/text.h"
#include "core/turn.h"

namespace berth {

struct ObjectEvent {
  Kind kind = Kind::pod;
  Text object;  // "<namespace>/<name>", or a name
  Text type;    // "Normal", "Warning"
  Text reason;  // "Scheduled", "FailedScheduling", ...
  std::string message;
  Text source;           // the node whose device caused it; empty: the gateway itself
  bool is_saved = true;  // false: gone with a restart
};

struct EventRecord {
  ObjectEvent event;
  Millis first = 0;  // wall clock
  Millis last = 0;
  int count = 1;
  std::uint64_t order = 0;  // higher: seen later
};

class EventRecorder {
 public:
  static constexpr std::string_view kRecords = "event/";  // of Table::queue: "event/<number>"
  static constexpr std::size_t kMaxEvents = 1000;
  static constexpr std::size_t kMaxOfObject = 32;
  static constexpr std::size_t kMaxOfSource = 128;  // one device
  static constexpr std::size_t kMaxSaved = 256;
  static constexpr std::size_t kMaxMessageBytes = 1024;  // as Kubernetes' (validation/events.go)
  static constexpr Millis kKeptMs = 3'600'000;
  static constexpr int kBurst = 10;  // of one device about one object, then one each kRefillMs
  static constexpr Millis kRefillMs = 300'000;
  static constexpr Millis kBesideMs = 60'000;

  // All outlive it.
  EventRecorder(Turn& turn, const Topics& topics, const Clock& clock, Store& store);

  Status load(const RecordView& record);
  // `node`: contains all that the event's message does, and is published instead of it; empty: it does not.
  void record(ObjectEvent event, const std::string& node = {});
  // The object is gone: the first event of the next one of its name is news, even if it equals an earlier one.
  void part_from(Kind kind, std::string_view object);
  // At a tick: those older than an hour go.
  void expire();
  // At the end of each turn, of which there is one a second. `beside`: this turn writes anyway.
  void save(bool beside);
  // At a clean end: everything, counts too.
  void save_all();

  // Oldest first.
  std::vector<const EventRecord*> of(Kind kind, std::string_view object) const;
  std::vector<const EventRecord*> all() const;

 private:
  using Object = std::pair<Kind, Text>;
  struct Kept {
    EventRecord record;
    Millis seen = 0;          // on the boot-time clock
    bool closed = false;      // its object is gone
    bool is_new = true;       // not on flash
    bool is_counted = false;  // on flash, with a lower count
  };
  struct Bucket {
    double tokens = kBurst;
    Millis at = 0;
  };
  using Records = std::map<std::uint64_t, Kept>;

  bool may_record(const ObjectEvent& event);
  Kept* find_equal(const ObjectEvent& event);
  void touch(Kept& kept, std::uint64_t id);
  void publish(const ObjectEvent& event, Millis wall, const std::string& node);
  void make_room(const ObjectEvent& event);
  void forget(std::uint64_t id);
  std::uint64_t oldest_of(const std::function<bool(const Kept&)>& is_wanted) const;
  void write(std::uint64_t id, Kept& kept);

  const Topics& topics_;
  const Clock& clock_;
  Store& store_;
  Outbox<Members> out_;
  Records records_;                                // by id
  std::map<std::uint64_t, std::uint64_t> orders_;  // order -> id
  std::map<Object, std::set<std::uint64_t>> by_object_;
  std::map<Text, std::size_t> by_source_;
  std::map<std::pair<Text, Object>, Bucket> buckets_;
  std::set<std::uint64_t> stored_;
  std::size_t unsaved_ = 0;  // of records_: those that are not to be saved
  std::uint64_t next_id_ = 1, next_order_ = 1;
  Millis none_old_before_ = 0;  // expire() is called every second, and most often it is far too early
  Millis saved_at_ = 0;
  bool has_saved_ = false;
  bool has_new_ = false;
  bool is_due_ = false;  // something was written since the last save
};

}  // namespace berth
