// A directory whose files change all at once, as those of a ConfigMap volume do (pkg/volume/util/atomic_writer.go):
//
//   ..2026_11_29_18_00_00.x7Gq2p/app.conf   one state of all files
//   ..data -> ..2026_11_29_18_00_00.x7Gq2p  replaced by a rename, which programs may watch
//   app.conf -> ..data/app.conf             a link for each first part of a path
//
// After a kill at any moment the files are those of one state, and the next write puts the rest in order. Nothing is
// made durable: after a power cut a new keeper writes the files again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "core/status.h"

namespace berth {

struct PayloadFile {
  std::string bytes;
  mode_t mode = 0644;
  bool operator==(const PayloadFile&) const = default;
};

// By path below the directory, with directories in between: "tls/key.pem".
using Payload = std::map<std::string, PayloadFile>;

inline constexpr std::size_t kMostPayloadFiles = 4096;
inline constexpr std::size_t kMostPayloadBytes = 4 * 1024 * 1024;  // a few objects of Kubernetes' 1 MiB

// Whether a path may be written: relative, without "..", "." and empty parts, not starting with "..", and no longer
// than Linux allows (validatePath there). The error says what it must be.
Status check_payload_path(const std::string& path);
// The paths, that none of them is a directory of another one, and the bounds above.
Status check_payload(const Payload& payload);

// Makes `directory`, which is there and nobody else writes to, show this payload. `group`: files and directories belong
// to this group, which may read them whatever their modes are (SetVolumeOwnership of a read-only volume). True: it was
// written; false: it was there already, and nothing was written. After an error the files are those of before, or all
// those of the payload.
Result<bool> write_payload(const std::string& directory, const Payload& payload, std::optional<gid_t> group);

}  // namespace berth
