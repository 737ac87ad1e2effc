// TreeWalk: visits what is below a directory in steps, while others write there: no link is followed, and no other
// mount is entered, whatever is renamed meanwhile.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

class TreeWalk {
 public:
  // Each level is an open directory.
  static constexpr std::size_t kDeepest = 128;
  // `name` in the open directory `parent`; of a directory, after all in it, "." in itself.
  using Visit = std::function<Status(int parent, const char* name, const struct stat& found)>;

  // Of all in it, and of `directory` itself in the end. What cannot be told from a directory that goes is left out.
  TreeWalk(std::string directory, Visit visit) : directory_(std::move(directory)), visit_(std::move(visit)) {}

  // Looks at this many entries at most. True: all were visited. After an error, that of a visit too, it ends.
  Result<bool> step(int entries);

 private:
  struct Close {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  using Level = std::unique_ptr<DIR, Close>;

  Status begin();
  Status next();
  Status enter(const char* name);
  Status leave();
  Status failed(const std::string& what) const;

  std::string directory_;
  Visit visit_;
  std::vector<Level> levels_;
  bool has_begun_ = false;
};

}  // namespace berth
