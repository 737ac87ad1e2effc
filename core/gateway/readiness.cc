#include "core/gateway/readiness.h"

namespace berth {

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
    std::string nodes;
    for (const std::string& node : context.identity->adopt_nodes) nodes += (nodes.empty() ? "" : ", ") + node;
    is.synced =
        std::string(context.identity->rolled_back ? "the store is an older copy of itself" : "the store is new") +
        ": these nodes must list what they run, or be forgotten, before pods are placed: " + nodes;
  }
  return is;
}

}  // namespace berth
