#include "storage/version_1.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace berth {

namespace {

DatabaseResult<void> each_row(Database& database, std::string_view sql,
                              const std::function<bool(const Database::Query&)>& visit) {
  auto rows = database.prepare(sql);
  if (!rows) return std::unexpected(rows.error());
  for (;;) {
    const auto row = rows->step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    if (!visit(*rows)) {
      return std::unexpected(DatabaseError{DatabaseError::Kind::corrupt, "unknown operation in a journal entry"});
    }
  }
}

}  // namespace

DatabaseResult<Version1> read_version_1(Database& database) {
  Version1 found;
  const auto take = [&found](const Database::Query& row) {
    Change change;
    change.op = static_cast<Op>(row.integer(0));
    change.table = static_cast<Table>(row.integer(1));
    change.key = row.text(2);
    change.value = row.text(3);
    change.phase = static_cast<int>(row.integer(4));
    if (change.op < Op::put || change.op > Op::advance) return false;
    apply(found.contents, std::move(change));
    return true;
  };
  for (const char* sql : {"SELECT 3, tbl, key, value, phase FROM record",
                          "SELECT op, tbl, key, value, phase FROM journal ORDER BY position"}) {
    if (auto read = each_row(database, sql, take); !read) return std::unexpected(read.error());
  }
  for (const char* sql : {"SELECT position FROM folded", "SELECT max(position) FROM journal"}) {
    const auto position = database.integer(sql);
    if (!position) return std::unexpected(position.error());
    found.position = std::max(found.position, static_cast<std::uint64_t>(*position));
  }
  return found;
}

}  // namespace berth
