// How `berthctl explain` and `berthctl plan` tell the gateway's record to a person.
#pragma once

#include <string>

#include "core/json/json.h"

namespace berth {

// A page of text from an answer to explain or plan: why, the nodes by reason, scores, preemption, queue, what would
// wake the pod. What the answer lacks is passed over.
std::string explanation_page(const Json& answer);

}  // namespace berth
