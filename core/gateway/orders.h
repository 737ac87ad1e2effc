// Orders: what operators ask for, by whatever way it comes: apply and delete of objects of every kind. An order is
// checked, refused with the field and the reason, or accepted and carried out.
#pragma once

#include <string>

#include "core/api/decode.h"
#include "core/placement/placement.h"

namespace berth {

class Orders {
 public:
  // Both outlive it.
  Orders(const PlacementContext& context, Placement& placement) : context_(context), placement_(placement) {}

  // `expected_key`: the name that the topic says; empty: any. `recreate`: the object is a new one, even of a known
  // name. Code::unschedulable: there is no capacity for new objects.
  Result<Accepted> apply(Kind kind, const Json& object, const std::string& expected_key, bool recreate);
  // Deletes by name; `uid` empty: whatever uid. An error when there is nothing of that name (or uid).
  Status remove(Kind kind, const std::string& key, const std::string& uid);

  struct Admitted {
    std::shared_ptr<Pod> pod;
    bool known = false;  // a new version of the pod of this name
    Warnings warnings;
  };
  // What is asked of a pod's manifest before it is accepted. Changes nothing but the random source, for a uid.
  Result<Admitted> admit_pod(const Json& object, const std::string& expected_key, bool recreate);

 private:
  Result<Accepted> apply_pod(const Json& object, const std::string& expected_key, bool recreate);
  Result<Accepted> apply_node_overlay(const Json& object, const std::string& expected_key);
  Status check_pod(const Pod& pod, const PodEntry* same, const std::string& key) const;
  Status admit_priority(Json& manifest) const;

  const PlacementContext& context_;
  Placement& placement_;
};

}  // namespace berth
