#include "storage/open_error.h"

namespace berth {

OpenError open_error(const std::string& path, const DatabaseError& error) {
  switch (error.kind) {
    case DatabaseError::Kind::locked:
      return {OpenError::Kind::locked, "store " + path +
                                           " is in use by another process: stop that process, or use another state "
                                           "directory"};
    case DatabaseError::Kind::corrupt:
      return {OpenError::Kind::corrupt, "store " + path + " is damaged: " + error.message};
    case DatabaseError::Kind::full:
      return {OpenError::Kind::io, "store " + path + " cannot be opened: the disk is full; free some space"};
    case DatabaseError::Kind::io: break;
  }
  return {OpenError::Kind::io, "store " + path + " cannot be opened: " + error.message +
                                   "; check that its directory exists and is writable"};
}

}  // namespace berth
