#include "firmware-host/gateway/store.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "storage/memory_store.h"
#include "storage/paths.h"
#include "storage/sqlite_store.h"

namespace berth {

namespace {

std::string hold_path(const std::string& path) { return path + ".hold"; }

std::string read_hold(const std::string& path) {
  std::ifstream file(hold_path(path));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

OpenedStore hold_in_memory(const std::string& why, Log& log) {
  log.write(Level::error, "not ready: nothing is bound", {{"reason", why}});
  return {std::make_unique<MemoryStore>(), why};
}

OpenedStore set_aside_and_hold(const std::string& path, const std::string& damage, const Clock& clock, Log& log) {
  Result<std::string> aside = set_aside(path, clock.wall());
  if (!aside) return hold_in_memory(damage + "; it cannot be set aside: " + aside.error().message(), log);
  const std::string why = "the store was damaged (" + damage + ") and set aside as " + *aside +
                          "; put a sound copy in its place, or start empty, and remove " + hold_path(path);
  std::ofstream(hold_path(path)) << why << "\n";
  if (Status synced = sync_directory_of(hold_path(path)); !synced.is_success()) {
    log.write(Level::warn, "the reason may be forgotten at a power cut", {{"error", synced.message()}});
  }
  return hold_in_memory(why, log);
}

}  // namespace

OpenedStore open_gateway_store(const std::string& path, const Clock& clock, Log& log) {
  if (const std::string held = read_hold(path); !held.empty()) return hold_in_memory(held, log);
  auto store = SqliteStore::open(path, log);
  if (store) return {std::move(*store), {}};
  switch (store.error().kind) {
    case OpenError::Kind::corrupt: return set_aside_and_hold(path, store.error().message, clock, log);
    case OpenError::Kind::locked:
      log.write(Level::error, "cannot start", {{"error", store.error().message}});
      return {nullptr, store.error().message};
    case OpenError::Kind::newer:
    case OpenError::Kind::io: return hold_in_memory(store.error().message, log);
  }
  return {nullptr, {}};
}

OpenedStore set_gateway_store_aside(std::unique_ptr<Store> store, const std::string& path, const std::string& damage,
                                    const Clock& clock, Log& log) {
  store.reset();
  return set_aside_and_hold(path, damage, clock, log);
}

}  // namespace berth
