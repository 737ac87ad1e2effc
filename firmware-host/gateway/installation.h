// Whether the state directory is that of a new installation (P15). A store without records is new only there; in any
// other directory it has been lost, and what it knew has to be asked of the nodes.
#pragma once

#include <string>

#include "core/status.h"

namespace berth {

// The directory is not there, or nothing is in it. To be asked before it is used.
bool is_unused_directory(const std::string& path);
// A file in the directory says that it is new, durably, until a store is in it.
Status mark_new_installation(const std::string& state_dir);
// So it says, and the directory has no store, nor what one leaves.
bool is_new_installation(const std::string& state_dir);
void unmark_new_installation(const std::string& state_dir);

// `berthd init`: marks the directory, which it creates if needed. An error if there is a store in it.
Status init_installation(const std::string& state_dir);

}  // namespace berth
