// AssumedVolumes: what is promised to claims between Reserve and the moment the volume objects say so themselves, so
// that pods decided meanwhile agree with it: which free volume a claim gets, or which node its provisioner is to fill
// it for (volumebinding/assume_cache.go). A promise holds until it is kept or dropped: an unrelated change of the
// object, which upstream's cache lets win, must not let two rows have one volume.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/framework/framework.h"

namespace berth {

class AssumedVolumes {
 public:
  // Promises `volume` to `claim` on behalf of a pod; several pods may share one promise. False when the volume is
  // promised to another claim, or the claim another volume: one that is being deleted, which no search finds.
  bool assume(const std::string& volume, const std::string& claim, const Text& pod_uid);
  // Promises that `claim` is provisioned for `node`. False when it is promised to another node.
  bool assume_node(const std::string& claim, const std::string& node, const Text& pod_uid);
  // Takes back what was promised on behalf of the pod; unknown pods are ignored.
  void drop(const Text& pod_uid);
  // Drops what the objects say by now: claims that are bound.
  void prune(const Lister& volumes);
  // The claim ("<namespace>/<name>") a volume is promised to; empty: none.
  std::string claim_of(const std::string& volume) const;
  // The node a claim is to be provisioned for; null: none.
  const std::string* node_of(const std::string& claim) const;
  std::size_t size() const { return claims_.size() + nodes_.size(); }
  struct Promise {
    std::string to;  // a claim, or a node
    std::set<Text> pods;
  };
  using Promises = std::map<std::string, Promise>;
  // Promised volumes, by name.
  const Promises& claims() const { return claims_; }
  // Another number whenever a promise is made or ends.
  std::uint64_t version() const { return version_; }

 private:
  bool promise(Promises& promises, const std::string& what, const std::string& to, const Text& pod_uid);

  Promises claims_;  // by volume
  Promises nodes_;   // by claim
  std::uint64_t version_ = 0;
};

}  // namespace berth
