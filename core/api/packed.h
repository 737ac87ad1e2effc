// The decoded form of an accepted pod and of a node, as it is stored beside the JSON it comes from: a start that reads
// 50,000 pods has no time to decode their manifests again.
#pragma once

#include <string_view>

#include "core/api/objects.h"
#include "core/bytes.h"

namespace berth {

// A pod or node that is to be kept takes what others have alike from them, and gives it to those to come.
void share_parts(Pod& pod);
void share_parts(Node& node);
// Everything but the manifest.
void pack_pod(ByteWriter& out, const Pod& pod);
void pack_node(ByteWriter& out, const Node& node);
// False: packed by a program that decodes differently, so that the JSON has to be decoded.
bool is_pod_packed_alike(std::string_view packed);
bool is_node_packed_alike(std::string_view packed);
// Into a new object, which shares its parts and has no manifest then. False: damaged; what was read of it stands in
// the object. Reads to the end of `packed`.
[[nodiscard]] bool unpack_pod(std::string_view packed, Pod& pod);
[[nodiscard]] bool unpack_node(std::string_view packed, Node& node);

}  // namespace berth
