// Formats the gateway's answers to `berthctl explain` and `berthctl plan` for people.
#pragma once

#include <string>

#include "core/json/json.h"

namespace berth {

// A page of text from an answer to explain or plan: the reason, nodes by reason, scores, preemption, queue, and the
// events that would requeue the pod. Parts that the answer does not have are left out.
std::string explanation_page(const Json& answer);

}  // namespace berth
