// Brings a file to this schema version: a new file, or a store that an earlier program wrote.
#include <utility>

#include "storage/paths.h"
#include "storage/schema.h"
#include "storage/sqlite_store.h"
#include "storage/version_1.h"

namespace berth {

namespace {

const std::string kMark = "PRAGMA application_id = " + std::to_string(SqliteStore::kApplicationId) +
                          "; PRAGMA user_version = " + std::to_string(SqliteStore::kSchemaVersion) + ";";

}  // namespace

DatabaseResult<void> SqliteStore::migrate() {
  const auto version = database_->integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version == 1) return migrate_version_1();
  if (*version == kSchemaVersion) return {};
  if (*version == 2) return migrate_version_2();
  return database_->execute("BEGIN IMMEDIATE;\n" + std::string(kSchemaSql) + kMark + "COMMIT;");
}

// The tables of version 2 are those of version 3 already: only the version number changes.
DatabaseResult<void> SqliteStore::migrate_version_2() {
  auto marked = transact(&SqliteStore::mark);
  if (!marked && marked.error().kind == DatabaseError::Kind::full) {
    remove_file(reserve_path());
    marked = transact(&SqliteStore::mark);
  }
  return marked;
}

DatabaseResult<void> SqliteStore::mark() { return database_->execute(kMark); }

// In one transaction, so that a crash leaves either the old or the new store.
DatabaseResult<void> SqliteStore::migrate_version_1() {
  auto old = read_version_1(*database_);
  if (!old) return std::unexpected(old.error());
  for (auto& [id, content] : old->contents) {
    stage({Op::begin, id.first, id.second, std::move(content.value), content.phase});
  }
  position_ = old->position - staged_.size();  // may wrap around; adding the changes wraps it back
  auto moved = transact(&SqliteStore::replace_version_1);
  if (!moved && moved.error().kind == DatabaseError::Kind::full) {
    remove_file(reserve_path());
    moved = transact(&SqliteStore::replace_version_1);
  }
  staged_.clear();
  staged_bytes_ = 0;
  written_.clear();
  return moved;
}

DatabaseResult<void> SqliteStore::replace_version_1() {
  if (auto made = database_->execute(std::string(kDropVersion1) + kSchemaSql + kMark); !made) return made;
  if (auto prepared = prepare_statements(); !prepared) return prepared;
  if (staged_.empty()) {
    const auto appended = append_entry({}, position_);
    return appended ? DatabaseResult<void>() : std::unexpected(appended.error());
  }
  return append_staged();
}

}  // namespace berth
