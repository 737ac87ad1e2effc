// Which fields the objects of each kind have in Kubernetes, at every depth: what is misspelt would be ignored, and
// nobody would notice.
#pragma once

#include "core/api/kind.h"
#include "core/json/findings.h"
#include "core/json/json.h"

namespace berth {

// Reports each unknown field of an object of this kind, with the most similar known name. Types are not checked: what
// should be an object and is none is passed over.
void check_fields(Kind kind, const Json& object, Findings& findings);

}  // namespace berth
