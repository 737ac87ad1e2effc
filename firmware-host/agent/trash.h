// Trash: directories of pods that are being deleted, in one of their own beside those of pods.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

class Trash {
 public:
  // `root`: the directory that the pods' are in.
  explicit Trash(const std::string& root) : directory_(root + "/.trash") {}

  // Makes its directory, and the root. Returns what an earlier process left in it.
  Result<std::vector<std::string>> open() const;
  // Moves the directory into it; returns where it is now. Empty: it does not exist.
  Result<std::string> move(const std::string& directory);

 private:
  const std::string directory_;
  int moved_ = 0;
};

}  // namespace berth
