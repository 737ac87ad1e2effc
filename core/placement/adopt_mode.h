// AdoptMode: after a lost store or a takeover nothing is placed until every known node has listed its slots (P8). It
// also ends the belief that the store is new, once something speaks against that (P15).
#pragma once

#include <set>
#include <string>

#include "core/handshake/messages.h"
#include "core/placement/adoption.h"
#include "core/placement/kept_output.h"
#include "core/placement/node_registry.h"
#include "core/placement/orphan_volumes.h"
#include "core/placement/pod_registry.h"

namespace berth {

class AdoptMode {
 public:
  struct Parts {
    VolumeBinder& volumes;
    NodeRegistry& nodes;
    PodRegistry& pods;
    Adoption& adoption;
    KeptOutput& output;
    OrphanVolumes& orphan_volumes;
  };
  // All outlive it.
  AdoptMode(const PlacementContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  // The retained state has arrived: it is known now which nodes there are to wait for.
  void start();
  // Every known node is to list its slots under the present term.
  void enter();
  // Likewise, since another gateway has served the fleet; before the retained state arrives, and with it start().
  void follow();
  // The node has listed everything under this term, or is not waited for any more.
  void note_answered(const std::string& node);
  // The node has a slot that this store did not give, or obeyed another store: a new store is none, and adopt mode
  // begins.
  void note_foreign_slot(const std::string& node, const SlotReport& slot);
  void note_foreign_store(const std::string& node, const GatewayId& id);
  // The operator ends it. Returns the nodes that were still waited for.
  std::set<std::string> end_by_operator();

 private:
  void wait_for_known_nodes();
  void wait_for_listed_nodes();
  bool has_list() const;
  void await_operator();
  bool is_over() const;
  void end_being_new(const std::string& node, const std::string& why);
  void end();
  void forget_deleted();

  const PlacementContext& context_;
  Parts parts_;
};

}  // namespace berth
