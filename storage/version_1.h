// Reads a store of version 1: a table of uncompressed records, and a journal of single changes to apply to it.
#pragma once

#include <cstdint>

#include "storage/change.h"
#include "storage/database.h"

namespace berth {

struct Version1 {
  Contents contents;
  std::uint64_t position = 0;  // of the last change
};

DatabaseResult<Version1> read_version_1(Database& database);

// Reads every page of its tables.
inline constexpr char kReadAllOfVersion1[] =
    "SELECT max(length(key || value)) FROM (SELECT key, value FROM journal UNION ALL SELECT key, value FROM record)";
// Drops its tables.
inline constexpr char kDropVersion1[] = "DROP TABLE journal; DROP TABLE record; DROP TABLE folded;";

}  // namespace berth
