// CopyStaging: a directory of its own for what a container sends, next to where it belongs. What is unpacked is not
// trusted: of it only regular files and directories reach their place, as with "kubectl cp". A link could lead a later
// member, or a later copy, out of the name that was asked for.
#pragma once

#include <iosfwd>
#include <string>

#include "core/status.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

class CopyStaging {
 public:
  // In `directory`, to whose file system files are moved later. Removed with this object.
  explicit CopyStaging(std::string directory);
  ~CopyStaging();
  CopyStaging(const CopyStaging&) = delete;
  CopyStaging& operator=(const CopyStaging&) = delete;

  // Empty: it could not be made, and errno says why.
  const std::string& path() const { return path_; }
  // Moves `name` of the staging directory to `target` of the directory. No link is followed there; what exists is only
  // replaced by its own kind, and directories are merged. Other kinds of files are left out with a warning, or fail if
  // they are `name` itself. Nothing is moved, and nothing fails, if `name` is not there.
  Outcome<void> move(const std::string& name, const std::string& target, std::ostream& warnings) const;

 private:
  const std::string directory_;
  std::string path_;
};

}  // namespace berth
