// Brings a file to the current schema version: a new file, or a store that an earlier program wrote.
#pragma once

#include <string>

#include "storage/database.h"

namespace berth {

// `reserve`: the path of the store's reserve file, which is removed if there is no space otherwise.
DatabaseResult<void> migrate(Database& database, const std::string& reserve);

}  // namespace berth
