// AssumedVolumes: which free volume is promised to which claim between Reserve and the moment the volume objects say
// so themselves, so that two pods decided in one turn never choose one volume (volumebinding/assume_cache.go).
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/framework/framework.h"

namespace berth {

class AssumedVolumes {
 public:
  // Promises `volume` to `claim` on behalf of a pod; several pods may share one promise. False when the volume is
  // promised to another claim.
  bool assume(const std::string& volume, const std::string& claim, const std::string& pod_uid);
  // Takes back what was promised on behalf of the pod; unknown pods are ignored.
  void drop(const std::string& pod_uid);
  // Drops what the objects say by now: claims that are bound.
  void prune(const Lister& volumes);
  // The claim ("<namespace>/<name>") a volume is promised to; empty: none.
  std::string claim_of(const std::string& volume) const;
  std::size_t size() const { return promises_.size(); }

 private:
  struct Promise {
    std::string claim;
    std::set<std::string> pods;
  };
  std::map<std::string, Promise> promises_;  // by volume
};

}  // namespace berth
