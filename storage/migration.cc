#include "storage/migration.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/check.h"
#include "storage/change.h"
#include "storage/journal.h"
#include "storage/paths.h"
#include "storage/schema.h"
#include "storage/version_1.h"

namespace berth {

namespace {

const std::string kMark = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                          "; PRAGMA user_version = " + std::to_string(kSchemaVersion) + ";";

// Runs `steps` in one transaction, so that a crash leaves either the old or the new store; on a full disk once more
// without the reserve file.
DatabaseResult<void> transact_or_free(Database& database, const std::string& reserve,
                                      const std::function<DatabaseResult<void>()>& steps) {
  auto done = database.transact(steps);
  if (!done && done.error().kind == DatabaseError::Kind::full) {
    remove_file(reserve);
    done = database.transact(steps);
  }
  return done;
}

DatabaseResult<void> replace_version_1(Database& database, const std::vector<Change>& changes, std::uint64_t position) {
  if (auto made = database.execute(std::string(kDropVersion1) + kSchemaSql + kMark); !made) return made;
  Journal journal(database, position);
  if (auto prepared = journal.prepare_statements(); !prepared) return prepared;
  return journal.append(changes);
}

DatabaseResult<void> migrate_version_1(Database& database, const std::string& reserve) {
  auto old = read_version_1(database);
  if (!old) return std::unexpected(old.error());
  std::vector<Change> changes;
  for (auto& [id, content] : old->contents) {
    CHECK(is_storable(id.second.size(), content.phase));
    changes.push_back({Op::begin, id.first, id.second, std::move(content.value), content.phase});
  }
  const std::uint64_t position = old->position - changes.size();  // may wrap around; adding the changes wraps it back
  return transact_or_free(database, reserve, [&] { return replace_version_1(database, changes, position); });
}

}  // namespace

DatabaseResult<void> migrate(Database& database, const std::string& reserve) {
  const auto version = database.integer("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  if (*version == 1) return migrate_version_1(database, reserve);
  if (*version == kSchemaVersion) return {};
  // The tables of version 2 are those of version 3 already: only the version number changes.
  if (*version == 2) return transact_or_free(database, reserve, [&] { return database.execute(kMark); });
  return database.execute("BEGIN IMMEDIATE;\n" + std::string(kSchemaSql) + kMark + "COMMIT;");
}

}  // namespace berth
