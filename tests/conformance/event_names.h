// Cluster events, as named in the recorded cases.
#pragma once

#include <cstdint>
#include <string>

#include "core/framework/events.h"

namespace berth {

// 0 if unknown.
std::uint32_t action_named(const std::string& name);
// With or without its group: "storage.k8s.io/CSINode". The wildcard if unknown.
EventResource resource_named(const std::string& name);
// "Node/[Add, UpdateNodeLabel]".
std::string show_event(EventResource resource, std::uint32_t actions);

}  // namespace berth
