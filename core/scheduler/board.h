// Board: what the gateway tells the world: status/ (retained, coalesced: one publication per object and turn), desired/
// (the mirror), and events/. Keeps the last events in memory for describe.
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

#include "core/api/objects.h"
#include "core/clock.h"
#include "core/handshake/lists.h"
#include "core/outbox.h"
#include "core/text.h"
#include "core/topics.h"
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

class Board {
 public:
  static constexpr std::size_t kMaxEvents = 1000;
  static constexpr std::string_view kMirrorMark = "mirror/";

  Board(Turn& turn, const Topics& topics, const Clock& clock);

  // Whose mirror it is: the gateway's store.
  void set_mirror_mark(const std::string& store_id) { mirror_mark_ = std::string(kMirrorMark) + store_id; }
  // True for any gateway's mirror, and for this one's.
  static bool is_mirror(const Message& message) { return message.correlation.starts_with(kMirrorMark); }
  bool is_own_mirror(const Message& message) const { return message.correlation == mirror_mark_; }

  // The object's status will be published when a turn ends, as `render` gives it then; null clears the topic. One of
  // which `is_passing` holds waits until that ends, or for two ticks. What is marked once `enough` holds is left to the
  // next turn; false: something is.
  void mark(Kind kind, const std::string& key) { dirty_.insert({kind, key}); }
  void tick();
  bool publish_marked(const std::function<Json(Kind, const std::string&)>& render,
                      const std::function<bool(Kind, const std::string&)>& is_passing,
                      const std::function<bool()>& enough);
  // Publishes the mirror of an accepted object. It carries the mark as its correlation data: the gateway reads desired/
  // too, and must tell its own word coming back from an operator's. None clears the topic (after a delete's commit),
  // and last of all in its turn: while it is there, the object's status may still have to be cleared.
  void mirror(Kind kind, const std::string& key, std::optional<std::string> manifest);
  // `node`: says all that the event's message does, and is published in its place; empty: it does not.
  void event(PodEventRecord event, const std::string& node = {});
  std::vector<PodEventRecord> events_of(const std::string& pod_key) const;

 private:
  void send_mirror(Kind kind, const std::string& key, std::string payload);

  Turn& turn_;
  const Topics& topics_;
  const Clock& clock_;
  Outbox<Members> events_out_;
  std::set<std::pair<Kind, std::string>> dirty_;
  std::pair<Kind, std::string> last_shown_;              // the next turn goes on behind it
  std::map<std::pair<Kind, std::string>, int> passing_;  // how many ticks each has waited
  std::set<std::pair<Kind, std::string>> gone_;          // whose mirror is to be cleared
  std::deque<PodEventRecord> events_;
  std::uint64_t forgotten_ = 0;               // events that came before those kept
  std::map<Text, std::uint64_t> last_event_;  // by pod: how many had come before its newest
  std::string mirror_mark_{kMirrorMark};
};

}  // namespace berth
