#include "core/framework/events.h"

namespace berth {

namespace {

bool same_resource(EventResource mine, EventResource other) {
  return mine == other || mine == EventResource::wildcard || other == EventResource::wildcard ||
         (mine == EventResource::pod && other == EventResource::assigned_pod);
}

}  // namespace

bool ClusterEvent::matches(const ClusterEvent& other) const {
  return same_resource(resource, other.resource) && (actions & other.actions) != 0;
}

}  // namespace berth
