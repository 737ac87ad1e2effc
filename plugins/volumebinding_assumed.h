// AssumedVolumes: assumptions about claims between Reserve and the time when the volume objects show them, so that pods
// scheduled meanwhile take them into account: the free volume that a claim gets, or the node for which it is to be
// provisioned (volumebinding/assume_cache.go). An assumption holds until the objects show it or it is dropped: unlike
// in upstream's cache, an unrelated change of the object does not end it, which could give two placements the same
// volume.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/api/quantity.h"
#include "core/framework/change_log.h"
#include "core/framework/framework.h"

namespace berth {

class AssumedVolumes {
 public:
  // Assumes that `claim` gets `volume`, on behalf of a pod; several pods may share one assumption. False if the volume
  // is assumed for another claim, or the claim is assumed to get another volume (one being deleted, which no search
  // finds).
  bool assume(const std::string& volume, const std::string& claim, const Text& pod_uid);
  // Assumes that `claim` is provisioned for `node`, with so many bytes of the class. False if another node is assumed.
  struct ToProvision {
    std::string storage_class;
    Quantity size;
  };
  bool assume_node(const std::string& claim, const std::string& node, ToProvision what, const Text& pod_uid);
  // Drops the assumptions made on behalf of the pod; unknown pods are ignored.
  void drop(const Text& pod_uid);
  // Drops assumptions that the objects now show: those of bound claims.
  void prune(const Lister& volumes);
  // The claim ("<namespace>/<name>") assumed to get the volume; empty: none.
  std::string claim_of(const std::string& volume) const;
  // The node for which the claim is to be provisioned; null: none.
  const std::string* node_of(const std::string& claim) const;
  // Calls visit(claim, ToProvision) for each claim that is to be provisioned for the node.
  template <class Visit>
  void for_each_on(const std::string& node, Visit visit) const {
    const auto found = nodes_.by_target.find(node);
    if (found == nodes_.by_target.end()) return;
    for (const std::string& claim : found->second) visit(claim, nodes_.assumptions.at(claim).what);
  }
  std::size_t size() const { return claims_.assumptions.size() + nodes_.assumptions.size(); }
  struct Assumption {
    std::string to;  // a claim, or a node
    std::set<Text> pods;
    ToProvision what;  // for a node
  };
  using Assumptions = std::map<std::string, Assumption>;
  // Assumed volumes, by name.
  const Assumptions& claims() const { return claims_.assumptions; }
  // The volumes for which an assumption was made or ended.
  const ChangeLog& changes() const { return changes_; }
  // The nodes for which claims are to be provisioned, or are no more.
  const ChangeLog& node_changes() const { return node_changes_; }

 private:
  static constexpr std::size_t kNodesKept = 4096;
  // What is assumed of volumes and of claims, and the way back.
  struct Both {
    Assumptions assumptions;
    std::map<std::string, std::set<std::string>> by_target;
    bool add(const std::string& what, const std::string& to, const Text& pod_uid);
    Assumptions::iterator erase(Assumptions::iterator assumption);
    // Ends those of the next ones that are to end.
    template <class Ends, class Note>
    void prune(Ends ends, Note note);
    std::string pruned_to;  // what was looked at last
  };

  Both claims_;  // by volume
  Both nodes_;   // by claim
  struct OfPod {
    std::set<std::string> volumes, claims;
  };
  std::map<Text, OfPod> by_pod_;
  ChangeLog changes_;
  ChangeLog node_changes_{kNodesKept};
};

}  // namespace berth
