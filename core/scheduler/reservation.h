// Reservation: a node held for a pod between its decision and its binding. Undo is a type: unless it is committed, the
// destructor undoes Assume and Reserve.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/framework/framework.h"
#include "core/status.h"

namespace berth {

// Holds an assumed pod and what Reserve did. Dropped while armed, it runs Unreserve in reverse and forgets the assumed
// pod. Move-only. Everything it points to outlives it.
class Reservation {
 public:
  // Assume, Reserve. On failure everything is undone and the status returned.
  static Result<Reservation> make(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state,
                                  PodPtr pod, std::string node);
  // After a restart: assumes the pod again, and every Reserve plugin takes again what the row's bound volumes name.
  // Armed, so that a drop undoes it. A pod that the cache knows already stays as it is there.
  static Reservation restore(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state, PodPtr pod,
                             std::string node, const std::vector<BoundVolume>& bound_volumes);
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  // The node holds the pod: nothing is undone any more.
  void commit();
  bool is_armed() const { return framework_ != nullptr; }
  CycleState& state() { return *state_; }
  const PodPtr& pod() const { return pod_; }
  const std::string& node() const { return node_; }

 private:
  void undo();
  const Framework* framework_ = nullptr;
  Cache* cache_ = nullptr;
  std::unique_ptr<CycleState> state_;
  PodPtr pod_;
  std::string node_;
};

}  // namespace berth
