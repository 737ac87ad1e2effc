// Cluster events as the recorded cases spell them.
#pragma once

#include <cstdint>
#include <string>

#include "core/framework/events.h"

namespace berth {

// 0 when unknown.
std::uint32_t action_named(const std::string& name);
// With or without its group: "storage.k8s.io/CSINode". The wildcard when unknown.
EventResource resource_named(const std::string& name);
// "Node/[Add, UpdateNodeLabel]".
std::string show_event(EventResource resource, std::uint32_t actions);

}  // namespace berth
