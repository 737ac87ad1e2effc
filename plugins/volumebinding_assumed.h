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

#include "core/framework/framework.h"

namespace berth {

class AssumedVolumes {
 public:
  // Assumes that `claim` gets `volume`, on behalf of a pod; several pods may share one assumption. False if the volume
  // is assumed for another claim, or the claim is assumed to get another volume (one being deleted, which no search
  // finds).
  bool assume(const std::string& volume, const std::string& claim, const Text& pod_uid);
  // Assumes that `claim` is provisioned for `node`. False if another node is assumed for it.
  bool assume_node(const std::string& claim, const std::string& node, const Text& pod_uid);
  // Drops the assumptions made on behalf of the pod; unknown pods are ignored.
  void drop(const Text& pod_uid);
  // Drops assumptions that the objects now show: those of bound claims.
  void prune(const Lister& volumes);
  // The claim ("<namespace>/<name>") assumed to get the volume; empty: none.
  std::string claim_of(const std::string& volume) const;
  // The node for which the claim is to be provisioned; null: none.
  const std::string* node_of(const std::string& claim) const;
  std::size_t size() const { return claims_.size() + nodes_.size(); }
  struct Assumption {
    std::string to;  // a claim, or a node
    std::set<Text> pods;
  };
  using Assumptions = std::map<std::string, Assumption>;
  // Assumed volumes, by name.
  const Assumptions& claims() const { return claims_; }
  // Claims that are to be provisioned, by key.
  const Assumptions& nodes() const { return nodes_; }
  // Changes whenever an assumption is made or ends.
  std::uint64_t version() const { return version_; }

 private:
  bool add(Assumptions& assumptions, const std::string& what, const std::string& to, const Text& pod_uid);

  Assumptions claims_;  // by volume
  Assumptions nodes_;   // by claim
  std::uint64_t version_ = 0;
};

}  // namespace berth
