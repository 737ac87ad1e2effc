// RetainedPublisher: what the gateway publishes and the broker retains: status/ and desired/ (the mirror).
//
// A retained message is pending by the name of its object, not by its payload: the payload is asked for when the send
// window has capacity. So what waits for a slow broker takes one name for each object, however often that changes, and
// each topic gets its newest payload last. The mirror of an object is published before its status, and cleared after
// it: while the broker has the mirror, a gateway that starts without its store learns of the name, and clears what else
// is retained for it. Nothing depends on the order of other topics. When the link breaks, the broker may still have the
// payloads that the pending ones would have replaced; SupersededOrders knows which of those are orders.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/kind.h"
#include "core/handshake/topics.h"
#include "core/json/json.h"
#include "core/turn.h"

namespace berth {

class RetainedPublisher {
 public:
  static constexpr std::string_view kMirrorMark = "mirror/";

  RetainedPublisher(Turn& turn, const Topics& topics) : turn_(turn), topics_(topics) {}

  // The store that a mirror message belongs to.
  void set_mirror_mark(const std::string& store_id) { mirror_mark_ = std::string(kMirrorMark) + store_id; }
  // True for any gateway's mirror, and for this one's.
  static bool is_mirror(const Message& message) { return message.correlation.starts_with(kMirrorMark); }
  bool is_own_mirror(const Message& message) const { return message.correlation == mirror_mark_; }

  // What is to be published of an object at this moment.
  struct Contents {
    std::function<Json(Kind, const std::string&)> status;                          // null clears the topic
    std::function<std::optional<std::string>(Kind, const std::string&)> manifest;  // none clears the topic
    // While true, the status waits, for two ticks at most.
    std::function<bool(Kind, const std::string&)> is_passing;
    // Called when the mirror was sent.
    std::function<void(Kind, const std::string&)> mirrored = [](Kind, const std::string&) {};
  };

  // The object's status, which may have changed, is to be published.
  void mark(Kind kind, const std::string& key) {
    repeat(kind, key);
    if (observer_) observer_(kind, key);
  }
  // It is to be published again, as it was.
  void repeat(Kind kind, const std::string& key) { dirty_.insert({kind, key}); }
  // Called with each object that mark() is called with.
  void observe(std::function<void(Kind, const std::string&)> observer) { observer_ = std::move(observer); }
  void tick();
  // The object's manifest is to be published. The mark is its correlation data: the gateway reads desired/ too, and
  // must tell its own mirror from an operator's order. That of an object that is gone clears the topic, after the
  // commit of the delete, and only once no status of it is pending: while the mirror is there, that may still have to
  // be cleared.
  void mirror(Kind kind, const std::string& key) { mirrors_.insert({kind, key}); }
  // The broker retains something newer; or all mirrors are marked again.
  void forget_mirror(Kind kind, const std::string& key) { mirrors_.erase({kind, key}); }
  void forget_mirrors() { mirrors_.clear(); }
  bool is_mirror_pending(Kind kind, const std::string& key) const { return mirrors_.contains({kind, key}); }
  bool has_pending_mirrors() const { return !mirrors_.empty(); }
  std::size_t pending() const { return mirrors_.size() + dirty_.size(); }
  // At the end of a turn: publishes what is pending, at most `capacity` messages and until `enough` returns true.
  void publish(const Contents& contents, std::size_t capacity, const std::function<bool()>& enough);

 private:
  using Named = std::set<std::pair<Kind, std::string>>;

  // True: a message was sent.
  bool publish_status(const Contents& contents, Named::iterator at);
  bool publish_mirror(const Contents& contents, Named::iterator at);

  Turn& turn_;
  const Topics& topics_;
  std::function<void(Kind, const std::string&)> observer_;
  Named dirty_;                                            // whose status is to be published
  Named mirrors_;                                          // whose mirror is
  std::pair<Kind, std::string> last_shown_, last_mirror_;  // the next turn goes on behind them
  bool mirrors_turn_ = false;
  std::map<std::pair<Kind, std::string>, int> passing_;  // how many ticks each has waited
  std::string mirror_mark_{kMirrorMark};
};

}  // namespace berth
