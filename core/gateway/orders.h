// Orders: what operators ask for, by whatever way it comes: apply and delete of objects of every kind. An order is
// checked, refused with the field and the reason, or accepted and carried out.
#pragma once

#include <optional>
#include <string>

#include "core/api/decode.h"
#include "core/placement/placement.h"
#include "core/workloads/workload_admission.h"

namespace berth {

class Orders {
 public:
  // Both outlive it.
  Orders(const PlacementContext& context, Placement& placement)
      : context_(context), placement_(placement), workloads_(context) {}

  // `expected_key`: the name that the topic says; empty: any. `recreate`: the object is a new one, even of a known
  // name. Code::unschedulable: there is no capacity for new objects.
  Result<Accepted> apply(Kind kind, const Json& object, const std::string& expected_key, bool recreate);
  // What apply() would answer for an object that is no pod; changes nothing.
  Result<Accepted> check(Kind kind, const Json& object);
  // Deletes by name; `uid` empty: whatever uid. An error when there is nothing of that name (or uid).
  // `propagation`: what becomes of what a workload owns.
  Status remove(Kind kind, const std::string& key, const std::string& uid,
                Propagation propagation = Propagation::background);

 private:
  // While nodes have not answered: what was deleted by uid or by name is ended when they list it.
  void note_deleted(const std::string& uid_or_key);
  // Which nodes may run a pod of which there is no object; empty: none.
  std::string why_unknown(Kind kind) const;
  // None: the object as it is.
  std::optional<Json> with_uid_of_orphan(const Json& object) const;
  Result<Accepted> apply_pod(const Json& object, const std::string& expected_key, bool recreate);
  Result<Accepted> check_node_overlay(const Json& object, const std::string& expected_key) const;
  Result<Accepted> apply_node_overlay(const Json& object, const std::string& expected_key);
  Result<Accepted> apply_other(Kind kind, const Json& object, const std::string& expected_key);

  const PlacementContext& context_;
  Placement& placement_;
  WorkloadAdmission workloads_;
};

}  // namespace berth
