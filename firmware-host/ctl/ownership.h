// Who owns a state directory. What root restores there has to be readable by berthd, which is not root.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"

namespace berth {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Of the directory, or, if it does not exist, of the nearest one above it that does.
Result<Owner> owner_of(const std::string& directory);
// Gives the directory, these files below it and the directories between to the owner. Only root may.
Status give_to(const Owner& owner, const std::string& directory, const std::vector<std::string>& files);

}  // namespace berth
