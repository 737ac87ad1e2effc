// LayerUnion: what an image shows at a path, of the layer that is being written, in the working directory, and of the
// layers below it. An entry below a symbolic link of any of them belongs where the link leads, as if the layer were
// unpacked over the others mounted as one (containerd, archive/tar.go, applyNaive() with fs.RootPath()): a directory in
// the link's place would hide it from overlayfs, and with it all that is where it leads.
//
// No link leads out: one that is absolute, or has too many "..", ends in the image's own root.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

class LayerUnion {
 public:
  // `lower`: descriptors of the layers below, topmost first. The working directory must be the root of the process.
  explicit LayerUnion(std::vector<int> lower);

  // `path` (layer_path.h), without links in the directories of it. What is not there at all stays as it is named.
  Result<std::string> resolve_parents(const std::string& path) const;

  // The directory `path` in the topmost of the lower layers that says anything about it. False: none does. `path` is
  // one without links.
  bool find_below(const std::string& path, struct stat& found) const;

 private:
  // Where the link `path` leads; empty: it is none.
  Result<std::string> link_at(const std::string& path) const;
  // A descriptor of what the lower layers have there; negative: nothing.
  int open_below(const std::string& path) const;

  std::vector<int> lower_;
};

}  // namespace berth
