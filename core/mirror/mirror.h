// Mirror: what the broker retains of the gateway's objects: desired/ (the mirror of the manifests) and status/, what of
// it is on its way, and what the broker is known to retain in this session.
//
// An operator's manifest that the broker retains exactly as it was accepted is not mirrored: on a radio link that would
// cost a third of a bind. Nothing then marks it as accepted, so once the pod is gone and the clearing of its topic was
// lost with the link or the power, the manifest would be an order again and the pod would come back. So the uid stays
// durably withdrawn until a synchronisation barrier behind the clearing shows that the broker has taken it in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/mirror/past_orders.h"
#include "core/mirror/retained_publisher.h"
#include "core/mirror/superseded_orders.h"
#include "core/mirror/sync_barrier.h"
#include "core/objects/identity.h"
#include "core/objects/made_pods.h"
#include "core/objects/objects.h"

namespace berth {

inline bool is_mirrored(const Pod& pod) { return !is_made_here(pod); }

class Mirror {
 public:
  // All outlive it. `gateway`: whose topics it uses.
  Mirror(Turn& turn, const Topics& topics, const Clock& clock, Store& store, Objects& objects, IdentityRecord& identity,
         const std::string& gateway);

  RetainedPublisher& publisher() { return publisher_; }
  const RetainedPublisher& publisher() const { return publisher_; }
  SupersededOrders& superseded() { return superseded_; }
  const SupersededOrders& superseded() const { return superseded_; }
  PastOrders& past() { return past_; }
  const PastOrders& past() const { return past_; }
  SyncBarrier& barrier() { return barrier_; }
  const SyncBarrier& barrier() const { return barrier_; }

  // The object's manifest is to be published, or its topic cleared when the object is gone.
  void publish(Kind kind, const std::string& key);
  // Likewise of a pod that was accepted just now, unless the broker retains exactly that.
  void publish_accepted(PodEntry& entry);
  // The pod is gone: its topic is to be cleared. `order_retained`: the broker retains the operator's order, as far as
  // is known.
  void clear_pod(const std::string& key, const std::string& uid, bool order_retained);
  // Until the clearing has left, and a barrier behind it is back, the uid stays withdrawn.
  void clear_withdrawn(const std::string& key, const std::string& uid);
  // The payload of the retained order that is being accepted, in compact form; none: there is no such order.
  void set_order_in_hand(std::optional<std::string> payload) { order_in_hand_ = std::move(payload); }
  // Runs an order that the broker does not retain: what it retains of the object is superseded by it.
  void apply_unretained(Kind kind, const std::string& key, const std::function<void()>& order);

  // What the broker retains of the object is known in this session: only the rest is published again.
  void note_seen(Kind kind, const std::string& key);
  // Takes note of the status that is about to be published; null clears the topic.
  Json note_status(Kind kind, const std::string& key, Json status);

  // A session begins: nothing is known of what the broker retains.
  void start_session();
  // The retained state of this session has arrived: all statuses, and the mirrors that the broker lacks, are to be
  // published again by republish().
  void on_synced();
  // Marks objects to be published until `end_us` on the clock, or until many are pending.
  void republish(std::int64_t end_us);
  bool has_more_to_republish() const;

  // Subscribes to desired/ again, since something retained was refused for want of capacity.
  void read_again() { reading_again_ = true; }
  // While set, a retained order may be older than what is known.
  bool may_be_old() const { return !barrier_.is_synced() || reading_again_; }
  bool is_reading_again() const { return reading_again_; }
  // At a tick: sends a barrier behind what is on its way, or again the one that is not back.
  void settle();
  // The barrier of settle() is back.
  void settled();
  // The mark that the broker retains: which past orders it has replaced.
  void take_mark(const std::string& payload);
  // The broker retains what the gateway of another store has published: it was there before, and with it the states of
  // the nodes of that time.
  void note_other_store() { kept_other_store_ = true; }
  bool kept_other_store() const { return kept_other_store_; }
  // This store is an older copy of the one with this id, which may have left a mark since (P11, P16).
  void note_lost_store(const std::string& store_id) { lost_store_ = {store_id, past_.newest()}; }
  // At the end of a turn.
  void end_turn();
  // The retained order comes from before what is known, as far as can be told (P16).
  bool is_past(Kind kind, const std::string& key, const Json& order) const;

 private:
  bool is_seen(Kind kind, const std::string& key) const;

  const Clock& clock_;
  Turn& turn_;
  Objects& objects_;
  IdentityRecord& identity_;
  RetainedPublisher publisher_;
  SupersededOrders superseded_;
  PastOrders past_;
  SyncBarrier barrier_;
  std::optional<std::string> order_in_hand_;
  bool kept_other_store_ = false;
  struct LostStore {
    std::string id;
    std::uint64_t newest_order = 0;  // the copy's then: later numbers mean other orders in either store
  };
  std::optional<LostStore> lost_store_;
  std::set<std::string> under_way_;                         // keys of pods whose mirror may be on its way to the broker
  std::map<std::string, std::set<std::string>> clearings_;  // to be sent, by key: the withdrawn uids each one is for
  struct Settling {
    std::set<std::string> keys, uids;  // of under_way_ and withdrawn
    bool reading_again = false;
    std::uint64_t orders = 0;  // PastOrders::sent()
  };
  std::optional<Settling> settling_;  // what the barrier on its way stands behind
  // Statuses whose topic was cleared, and the number of the barrier that proves it.
  std::map<std::pair<Kind, std::string>, std::uint64_t> cleared_;
  std::set<std::pair<Kind, std::string>> seen_;  // in this session; pods have PodEntry::seen_session
  // Since on_synced(), an index into kinds(): of that kind what republished_ has not met, and all of the next ones.
  std::size_t republish_from_ = kinds().size();
  Objects::Place republished_;
  bool reading_again_ = false;  // desired/ in this session
};

}  // namespace berth
