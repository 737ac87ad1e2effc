// Takeover: devices that obey another gateway (Superseded). What a device says of that concerns it alone: the gateway
// speaks to that node under a higher term, and to no other. A proof tells more: a gateway of this machine has been
// ahead of this store (P12).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/placement/adopt_mode.h"
#include "core/placement/comparison.h"

namespace berth {

class Takeover {
 public:
  struct Parts {
    Listings& listings;
    NodeRegistry& nodes;
    Comparison& comparison;
    AdoptMode& adopt_mode;
  };
  // All outlive it.
  Takeover(const PlacementContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  void take_superseded(const Answer& answer);
  // When they are an answer to this gateway under the node's present term, it obeys it.
  void note_slots(const Answer& answer);
  // Called once a second: ends what an hour ago began.
  void tick();
  void forget(const std::string& node) { times_.erase(node), obeyed_.erase(node), proofs_kept_.erase(node); }

 private:
  // The proof was checked. True: it is of a later term than this gateway's, or of another store.
  bool is_later(const GatewayId& obeyed, std::uint64_t proven) const;
  // Takes what was proven while the node was quarantined.
  void take_proofs_kept();
  // Whether the others wait because of what this node says: not of one that is forgotten or quarantined.
  bool counts_for_others(const std::string& node) const;
  void take_proof(const std::string& node, const GatewayId& obeyed, std::uint64_t proven);
  void take_node(const Answer& answer);
  void tell(const Answer& answer);

  const PlacementContext& context_;
  Parts parts_;
  std::map<std::string, std::vector<Millis>> times_;  // by node: when its term was raised, within the last hour
  std::map<std::string, GatewayId> obeyed_;           // by node: what it obeyed last, until it lists its slots
  std::map<std::string, GatewayId> proofs_kept_;      // by node, while it is quarantined: store and term, the latest
};

}  // namespace berth
