#include "storage/identity.h"

#include "storage/schema.h"
#include "storage/version_1.h"

namespace berth {

namespace {

// quick_check reports a page as damaged when a read fails or memory runs out. A plain read then reports the real error,
// or succeeds; a store must not be set aside because of such an error.
DatabaseResult<void> check_pages(Database& database, std::int64_t version) {
  std::string damage;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto check = database.text("PRAGMA quick_check(1)");
    if (!check) return std::unexpected(check.error());
    if (*check == "ok") return {};
    damage = *check;
    const auto read = version == 1 ? database.integer(kReadAllOfVersion1)
                                   : database.integer("SELECT max(length(changes || '')) FROM journal");
    if (!read && read.error().kind == DatabaseError::Kind::io) return std::unexpected(read.error());
  }
  return std::unexpected(DatabaseError{DatabaseError::Kind::corrupt, damage});
}

}  // namespace

std::expected<void, OpenError> check_identity(Database& database, const std::string& path) {
  const auto failed = [&path](const DatabaseError& error) { return std::unexpected(open_error(path, error)); };
  // Without the lock a second process could read between two commits. Each page is read once, so a large cache would
  // only cost memory; a large commit may keep its pages in memory, or some would be written twice.
  const auto locked =
      database.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -256; PRAGMA cache_spill = OFF");
  if (!locked) return failed(locked.error());
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return failed(version.error());
  const auto application = database.integer("PRAGMA application_id");
  if (!application) return failed(application.error());
  const auto tables = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!tables) return failed(tables.error());
  if (*tables > 0 && *application != kApplicationId) {
    return failed({DatabaseError::Kind::corrupt, "it is the database of another program"});
  }
  if (*version > kSchemaVersion) {
    return std::unexpected(
        OpenError{OpenError::Kind::newer, "store " + path + " has version " + std::to_string(*version) +
                                              ", this program knows versions up to " + std::to_string(kSchemaVersion) +
                                              ": run the newer program, or restore a backup of the older store"});
  }
  if (const auto sound = check_pages(database, *version); !sound) return failed(sound.error());
  return {};
}

}  // namespace berth
