// Listings: what is asked of nodes by List, page by page, until a listing is complete.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/placement/heard_runs.h"
#include "core/placement/request_sender.h"

namespace berth {

// What a node has listed.
struct Listed {
  std::vector<SlotReport> slots;
  std::vector<KeptVolume> kept_volumes;
  std::vector<SlotReport> ended;  // listed, and ended since by the node's own answer
};

class Listings {
 public:
  // Both outlive it. Listings of an earlier run must not be taken for ours: the first id is random.
  Listings(const PlacementContext& context, RequestSender& sender);
  ~Listings();
  Listings(const Listings&) = delete;
  Listings& operator=(const Listings&) = delete;

  // Asks the node for all its slots, from the first page on; what it had sent of an open listing no longer counts.
  // No effect without a link, or while the gateway holds still (GatewayOptions::hold). Floor::leave is for a look that
  // nothing waits for; where adopt mode or a forgotten node needs the floor, it is raised all the same.
  void start(const std::string& node, Floor floor = Floor::raise);
  // Likewise, but after the first delay of a resend.
  void start_later(const std::string& node);
  bool is_open(const std::string& node) const { return open_.contains(node); }
  // Of the listing that was begun last: ids grow.
  std::uint64_t last_id() const { return last_id_; }
  // The answer is a page of the listing that is open.
  bool is_page_of_open(const Answer& answer) const;
  // Takes a page in and asks for the next one; with the last one the listing is over, and all of it is returned. So it
  // is with one that goes beyond the limit of slots.
  std::optional<Listed> add_page(const Answer& answer);
  // By the node's own answer the epoch has ended since: what an open listing reports of it is older.
  void note_ended(const std::string& node, const Epoch& epoch);
  // Likewise, the device has deleted the volume.
  void note_deleted(const std::string& node, const std::string& volume);
  // A final status of the node was lost on the way, or not: the next listing asks for statuses again.
  // True: that is news.
  bool set_status_lost(const std::string& node, bool lost);
  // What devices say of how far their stores have come; a listing tells them what was heard before.
  HeardRuns& runs() { return runs_; }
  void forget(const std::string& node);
  // All open ones: the link is new.
  void clear();

 private:
  struct Listing {
    std::uint64_t id = 0;
    std::map<std::uint32_t, Listed> pages;
    std::set<Epoch> ended;          // since it was asked for
    std::set<std::string> deleted;  // volumes, likewise
    Timers::Id resend = 0;
    int resends = 0;
    Floor floor = Floor::raise;
  };

  void ask_page(const std::string& node);
  bool asks_for_report(const std::string& node) const;
  Floor floor_for(const std::string& node) const;

  const PlacementContext& context_;
  RequestSender& sender_;
  std::map<std::string, Listing> open_;  // by node
  std::set<std::string> status_lost_;    // nodes
  HeardRuns runs_;
  std::uint64_t last_id_;
};

}  // namespace berth
