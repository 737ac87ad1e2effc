// The binary form of decoded pods and nodes, stored beside their JSON: decoding 50,000 manifests again at each start
// would take too long.
#pragma once

#include <string_view>

#include "core/bytes.h"

namespace berth {

struct Node;
struct Pod;

// Interns the parts of a pod or node that is to be kept, so that equal parts are stored once.
void share_parts(Pod& pod);
void share_parts(Node& node);
// Everything but the manifest.
void pack_pod(ByteWriter& out, const Pod& pod);
void pack_node(ByteWriter& out, const Node& node);
// False: packed by a version that decodes differently, so that the JSON must be decoded instead.
bool is_pod_packed_alike(std::string_view packed);
bool is_node_packed_alike(std::string_view packed);
// Unpacks into a new object, with interned parts and without a manifest. `packed` must be consumed completely. False:
// damaged; the object is then partly filled.
[[nodiscard]] bool unpack_pod(std::string_view packed, Pod& pod);
[[nodiscard]] bool unpack_node(std::string_view packed, Node& node);

}  // namespace berth
