// Checks that a file is a store of a version that this program knows, and undamaged.
#pragma once

#include <expected>
#include <string>

#include "storage/database.h"
#include "storage/open_error.h"

namespace berth {

// Reads only, and locks the file: the store of a newer program must not be modified, not even its header.
std::expected<void, OpenError> check_identity(Database& database, const std::string& path);

}  // namespace berth
