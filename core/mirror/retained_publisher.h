// RetainedPublisher: what the gateway tells the world: status/ and desired/ (the mirror), both retained, and events/.
// Keeps the last events in memory for describe.
//
// What the broker is to retain is owed by its object's name, not by its words: they are asked for when the link has
// room for them. So what waits for a slow broker takes a name for each object, however often that changes, and each
// topic is told the newest last. Of one object the mirror comes before a status, and goes after its clearing: while the
// broker has it, a gateway that starts anew learns of the name, and clears what else is said of it. Nothing depends on
// the order of other topics. What is owed when the link breaks, the broker's older word may contradict: see
// SupersededOrders for which of them is an order. An event leaves with its turn, whatever room there is: it is told
// once, and nothing can stand in for it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
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
#include "core/text.h"
#include "core/turn.h"

namespace berth {

struct PodEventRecord {
  Text pod;     // "<namespace>/<name>"
  Text type;    // "Normal", "Warning"
  Text reason;  // "Scheduled", "FailedScheduling", ...
  std::string message;
  Millis wall = 0;
  int count = 1;  // equal neighbours are counted, not repeated
};

class RetainedPublisher {
 public:
  static constexpr std::size_t kMaxEvents = 1000;
  static constexpr std::string_view kMirrorMark = "mirror/";

  RetainedPublisher(Turn& turn, const Topics& topics, const Clock& clock);

  // Whose mirror it is: the gateway's store.
  void set_mirror_mark(const std::string& store_id) { mirror_mark_ = std::string(kMirrorMark) + store_id; }
  // True for any gateway's mirror, and for this one's.
  static bool is_mirror(const Message& message) { return message.correlation.starts_with(kMirrorMark); }
  bool is_own_mirror(const Message& message) const { return message.correlation == mirror_mark_; }

  // What there is to say of an object at this moment.
  struct Words {
    std::function<Json(Kind, const std::string&)> status;                          // null clears the topic
    std::function<std::optional<std::string>(Kind, const std::string&)> manifest;  // none clears the topic
    // Of which it holds, the status waits until that ends, or for two ticks.
    std::function<bool(Kind, const std::string&)> is_passing;
    // The mirror has left.
    std::function<void(Kind, const std::string&)> mirrored = [](Kind, const std::string&) {};
  };

  // The object's status is owed.
  void mark(Kind kind, const std::string& key) { dirty_.insert({kind, key}); }
  void tick();
  // The object's mirror is owed. It carries the mark as its correlation data: the gateway reads desired/ too, and must
  // tell its own word coming back from an operator's. That of an object that is gone clears the topic (after a delete's
  // commit), and only once no status of it is owed: while it is there, that may still have to be cleared.
  void mirror(Kind kind, const std::string& key) { mirrors_.insert({kind, key}); }
  // A newer word stands in its place, or all are to be owed anew.
  void forget_mirror(Kind kind, const std::string& key) { mirrors_.erase({kind, key}); }
  void forget_mirrors() { mirrors_.clear(); }
  bool owes_mirror(Kind kind, const std::string& key) const { return mirrors_.contains({kind, key}); }
  bool owes_mirrors() const { return !mirrors_.empty(); }
  std::size_t owed() const { return mirrors_.size() + dirty_.size(); }
  // At a turn's end: publishes what is owed, as many messages as there is `room` for and until `enough` holds; the rest
  // is owed still.
  void publish(const Words& words, std::size_t room, const std::function<bool()>& enough);
  // `node`: says all that the event's message does, and is published in its place; empty: it does not.
  void event(PodEventRecord event, const std::string& node = {});
  // The pod is gone: what the next one of its name is told of first counts as news.
  void part_from(std::string_view pod_key) {
    if (const auto last = last_event_.find(pod_key); last != last_event_.end()) last_event_.erase(last);
  }
  std::vector<PodEventRecord> events_of(const std::string& pod_key) const;

 private:
  using Named = std::set<std::pair<Kind, std::string>>;

  // True: a message was sent.
  bool publish_status(const Words& words, Named::iterator owed);
  bool publish_mirror(const Words& words, Named::iterator owed);

  Turn& turn_;
  const Topics& topics_;
  const Clock& clock_;
  Outbox<Members> events_out_;
  Named dirty_;                                            // whose status is owed
  Named mirrors_;                                          // whose mirror is
  std::pair<Kind, std::string> last_shown_, last_mirror_;  // one goes on behind them
  bool mirrors_turn_ = false;
  std::map<std::pair<Kind, std::string>, int> passing_;  // how many ticks each has waited
  std::deque<PodEventRecord> events_;
  std::uint64_t forgotten_ = 0;                            // events that came before those kept
  std::map<Text, std::uint64_t, std::less<>> last_event_;  // by pod: how many had come before its newest
  std::string mirror_mark_{kMirrorMark};
};

}  // namespace berth
