// Why a store cannot be opened.
#pragma once

#include <string>

#include "storage/database.h"

namespace berth {

struct OpenError {
  enum class Kind {
    corrupt,  // damaged, or not a Berth store: call set_aside() (storage/paths.h) and open again
    newer,    // written by a newer program: must not be modified
    locked,   // another process has it open
    io,       // a system error: permissions, missing directory, disk
  };
  Kind kind = Kind::io;
  std::string message;  // names the file and the fix
};

OpenError open_error(const std::string& path, const DatabaseError& error);

}  // namespace berth
