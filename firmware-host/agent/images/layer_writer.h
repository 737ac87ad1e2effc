// LayerWriter: writes the entries of a layer below the working directory, as overlayfs wants its lower directories
// (Linux, Documentation/filesystems/overlayfs.rst, "whiteouts and opaque directories"): what a layer deletes is a
// character device 0/0, and what replaces a directory has trusted.overlay.opaque. Needs root.
//
// The working directory must be the root of the process (chroot(2)): then no name, symbolic link or hard link leads
// out of it, and links that lead to other places of the image are followed (layer_union.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

struct archive;

namespace berth {

// What was written, and what was not.
struct UnpackedLayer {
  std::int64_t bytes = 0;    // of the tar
  std::int64_t entries = 0;  // files and directories, those among them that only entries below them have named
  std::int64_t skipped = 0;  // entries, and extended attributes of entries, that were left out
  std::string note;          // the first of these, and why
};

class LayerWriter {
 public:
  // `lower`: descriptors of the layers below, topmost first. A directory that the layer does not have itself, but
  // something in it, gets owner, mode and times of the one below: overlayfs would show it with ours.
  LayerWriter(std::int64_t most_entries, std::vector<int> lower);
  ~LayerWriter();
  LayerWriter(const LayerWriter&) = delete;
  LayerWriter& operator=(const LayerWriter&) = delete;

  // Errors name the entry.
  Status write_all(archive* tar);
  const UnpackedLayer& written() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
