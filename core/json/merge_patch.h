// JSON merge patches (RFC 7386): null removes a member, objects are merged, anything else replaces what is there.
#pragma once

#include "core/json/json.h"

namespace berth {

// Applies the patch. Members of `target` that the patch does not name keep their place.
void apply_merge_patch(Json& target, const Json& patch);

// The patch that makes `to` of `from`, both objects; an empty object when they are equal. Order of members does not
// count. A member of `to` that is null, or holds a null below, cannot be expressed: it is removed.
Json merge_patch_between(const Json& from, const Json& to);

}  // namespace berth
