// The QoS class of a pod, by what it asks for and is limited to of cpu and memory (component-helpers/resource, qos.go).
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

struct PodSpec;

enum class QosClass : std::uint8_t { guaranteed, burstable, best_effort };

std::string_view to_string(QosClass qos);  // as status.qosClass has it: "BestEffort"

// Guaranteed: each container has equal requests and limits of both; best effort: none has any. Of a pod with
// spec.resources these count instead. Requests that are not given may have been set from limits (defaults.h) or not.
QosClass qos_class_of(const PodSpec& spec);

}  // namespace berth
