#include "core/gateway/readiness.h"

namespace berth {

namespace {

std::string why_adopting(const Identity& identity) {
  std::string why = "the store was lost";
  if (identity.is_new) why = "the store is new";
  if (identity.rolled_back) why = "the store is an older copy of itself";
  if (identity.followed) why = "another gateway has served the fleet";
  if (identity.adopt_nodes.empty()) {
    return why + ", and no list of the nodes is left: once all are connected, end the waiting with berthctl adopt done";
  }
  std::string nodes;
  for (const std::string& node : identity.adopt_nodes) nodes += (nodes.empty() ? "" : ", ") + node;
  return why +
         ": these nodes must list what they run, or be forgotten, or the operator say berthctl adopt done, "
         "before pods are placed: " +
         nodes;
}

}  // namespace

std::string Readiness::reason() const {
  for (const std::string* why : {&store, &broker, &synced}) {
    if (!why->empty()) return *why;
  }
  return {};
}

Readiness readiness_of(const PlacementContext& context) {
  Readiness is;
  is.store = context.options.hold;
  const SyncBarrier& barrier = context.mirror.barrier();
  if (!barrier.is_link_up()) is.broker = "the broker is not connected";
  if (!barrier.is_synced()) {
    is.synced = "retained state is still arriving from the broker";
  } else if (context.identity->adopting) {
    is.synced = why_adopting(*context.identity);
  }
  return is;
}

}  // namespace berth
