// The decoded form of an accepted pod, as it is stored beside its manifest: a start that reads 50,000 pods has no time
// to decode their manifests again.
#pragma once

#include <optional>
#include <string_view>

#include "core/api/objects.h"
#include "core/bytes.h"

namespace berth {

// Everything but the manifest.
void pack_pod(ByteWriter& out, const Pod& pod);
// False: packed by a program that decodes differently, so that the manifest has to be decoded.
bool is_packed_alike(std::string_view packed);
// None: damaged. The pod has no manifest yet. Reads to the end of `packed`.
std::optional<Pod> unpack_pod(std::string_view packed);

}  // namespace berth
