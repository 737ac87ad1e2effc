// What the name of an entry in a layer means: a path below the layer's directory, or a whiteout
// (OCI image-spec, Image Layer Filesystem Changeset, "Whiteouts").
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

// Of a directory that shows nothing of the layers below it, with the value "y".
inline constexpr const char* kOpaqueAttribute = "trusted.overlay.opaque";

// Relative, with no empty part, "." or "..": "etc/passwd"; the directory itself is ".". Errors quote the name.
Result<std::string> layer_path(std::string_view name);

// "." of what has no directory in its path.
std::string parent_of(const std::string& path);

enum class EntryKind {
  plain,
  whiteout,      // `hidden` of the lower layers is not there any more
  opaque,        // nothing of the lower layers is left in `hidden`, a directory
  aufs_metadata  // of AUFS itself, from which this form comes: no part of the image
};

struct EntryMeaning {
  EntryKind kind = EntryKind::plain;
  std::string hidden;
};

// `path` as above.
Result<EntryMeaning> meaning_of(const std::string& path);

}  // namespace berth
