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
  // When they are an answer to this gateway under the node's present term, it obeys it; and says whom before.
  void note_slots(const Answer& answer);
  // Called once a second: ends what an hour ago began.
  void tick();
  void forget(const std::string& node) { times_.erase(node), obeyed_.erase(node), proofs_kept_.erase(node); }

 private:
  // What a proof tells, which was checked: the store, and the term that its gateway has had.
  using Proven = GatewayId;

  std::optional<Proven> read(const std::string& node, const std::string& store_id, const std::string& proof) const;
  // This gateway did not have the term itself, and knows of no such store.
  bool is_news(const Proven& proven) const;
  // A node that obeys another store is to obey a term above its own, whatever is known of that store.
  bool is_in_the_way(const Proven& proven) const;
  // In adopt mode all nodes are asked already.
  bool is_covered(const Proven& proven) const;
  void remember(const Proven& proven);
  void take_obeyed_before(const Answer& answer);
  // Takes what was proven while the node was quarantined.
  void take_proofs_kept();
  // Whether the others wait because of what this node says: not of one that is forgotten or quarantined.
  bool counts_for_others(const std::string& node) const;
  void take_proof(const std::string& node, const Proven& proven);
  void take_node(const Answer& answer);
  void tell(const Answer& answer);

  const PlacementContext& context_;
  Parts parts_;
  std::map<std::string, std::vector<Millis>> times_;  // by node: when its term was raised, within the last hour
  std::map<std::string, GatewayId> obeyed_;           // by node: what it obeyed last, until it lists its slots
  std::map<std::string, Proven> proofs_kept_;         // by node, while it is quarantined: the latest
};

}  // namespace berth
