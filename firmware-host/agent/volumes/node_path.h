// NodePath: a path of the node that a pod names by hostPath, and what must be there.
#pragma once

#include <string>

#include "core/status.h"

namespace berth {

struct NodePath {
  std::string path;
  std::string type;  // hostPath.type; empty: whatever is there
  bool operator==(const NodePath&) const = default;
};

// Whether it is there, and what `type` says; DirectoryOrCreate is asked for as Directory once it was made. `node`:
// named in errors. Pending: it cannot be told now.
//
// As the kubelet checks a hostPath (pkg/volume/hostpath, checkTypeInternal). But what has no type must be there too,
// and files are not made here (FileOrCreate): to plain processes an empty one in place of one that is missing would
// hide that.
Status find_node_path(const NodePath& wanted, const std::string& node);

// Makes what is missing of a directory of type DirectoryOrCreate, mode 0755 (makeDir there), whatever the umask is.
Status make_node_directory(const std::string& path);

}  // namespace berth
