// Volumes that are one directory: who deletes or fills one would do so with the other.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/api/volume.h"

namespace berth {

class Nodes;
class Objects;

// An absolute path without "//", "/./" and a "/" at its end, which name the same directory. Links are not followed:
// only the device sees them.
std::string normal_path(std::string_view path);

// Another volume with the path of this one on a node that both may be on. Null: none. Of volumes that name their nodes
// (kubernetes.io/hostname, metadata.name) those nodes count, known or not; others may be on the known nodes that they
// match. Costs a look at each volume, and at each node for volumes that name none.
struct SharedDirectory {
  std::string volume, node, path;
  std::string text() const;  // "/data on node n1 is that of volume other already; ..."
};
std::optional<SharedDirectory> find_shared_directory(const PersistentVolume& volume, const Objects& objects,
                                                     const Nodes& nodes);

}  // namespace berth
