#include "core/scheduler/reservation.h"

#include <utility>

#include "core/api/pod.h"
#include "core/check.h"

namespace berth {

Result<Reservation> Reservation::make(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state,
                                      PodPtr pod, std::string node) {
  CHECK(state != nullptr && pod != nullptr);
  if (Status assumed = cache.assume(pod, node); !assumed.is_success()) return assumed;
  Result<Reservation> made{Reservation()};
  Reservation& reservation = *made;
  reservation.framework_ = &framework;
  reservation.cache_ = &cache;
  reservation.state_ = std::move(state);
  reservation.pod_ = std::move(pod);
  reservation.node_ = std::move(node);
  Status reserved = framework.binding().run_reserve(*reservation.state_, *reservation.pod_, reservation.node_);
  if (!reserved.is_success()) return reserved;  // the drop of `made` undoes everything
  return made;
}

Reservation Reservation::restore(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state,
                                 PodPtr pod, std::string node, const std::vector<BoundVolume>& bound_volumes) {
  CHECK(state != nullptr && pod != nullptr);
  static_cast<void>(cache.assume(pod, node).is_success());  // known already: it stays where it is
  Reservation reservation;
  reservation.framework_ = &framework;
  reservation.cache_ = &cache;
  reservation.state_ = std::move(state);
  reservation.pod_ = std::move(pod);
  reservation.node_ = std::move(node);
  framework.binding().run_restore(*reservation.state_, *reservation.pod_, reservation.node_, bound_volumes);
  return reservation;
}

Reservation::Reservation(Reservation&& other) noexcept
    : framework_(std::exchange(other.framework_, nullptr)),
      cache_(std::exchange(other.cache_, nullptr)),
      state_(std::move(other.state_)),
      pod_(std::move(other.pod_)),
      node_(std::move(other.node_)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  undo();
  framework_ = std::exchange(other.framework_, nullptr);
  cache_ = std::exchange(other.cache_, nullptr);
  state_ = std::move(other.state_);
  pod_ = std::move(other.pod_);
  node_ = std::move(other.node_);
  return *this;
}

Reservation::~Reservation() { undo(); }

void Reservation::commit() { framework_ = nullptr; }

void Reservation::undo() {
  if (framework_ == nullptr) return;
  const Framework* framework = std::exchange(framework_, nullptr);
  framework->binding().run_unreserve(*state_, *pod_, node_);
  cache_->forget(pod_->uid());
}

}  // namespace berth
