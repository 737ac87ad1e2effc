// What the coming, changing and going of objects is to waiting pods: the cluster events of kube-scheduler
// (eventhandlers.go), with the objects as its hints see them.
#pragma once

#include <optional>
#include <string>

#include "core/api/pod.h"
#include "core/cache/node_info.h"
#include "core/framework/events.h"
#include "core/objects/objects.h"

namespace berth {

// `change` is kAdd, kUpdate or kDelete. None for kinds that no plugin waits for, and for pods and nodes, whose events
// tell more.
std::optional<ClusterEvent> event_of(Kind kind, Action change);

// Puts the object as it is kept now into the event's, before or after the change; null when there is none.
void note_old(EventObjects& to, const Objects& objects, Kind kind, const std::string& key);
void note_new(EventObjects& to, const Objects& objects, Kind kind, const std::string& key);

// The pod as events show it once it is placed: with spec.nodeName, which hints tell placed pods by.
PodPtr placed_on(const std::string& node, const Pod& pod);
// A pod of which nothing is known any more but what it was charged with.
PodPtr placed_on(const std::string& node, const std::string& uid, const Resources& charge);

}  // namespace berth
