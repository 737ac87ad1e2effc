#include "firmware-host/gateway/store.h"

#include "storage/memory_store.h"
#include "storage/paths.h"
#include "storage/sqlite_store.h"

namespace berth {

namespace {

OpenedStore hold_in_memory(const std::string& why, Log& log) {
  log.write(Level::error, "not ready: binding is paused", {{"reason", why}});
  return {std::make_unique<MemoryStore>(), why, {}};
}

Status set_aside_and_log(const std::string& path, const std::string& damage, const Clock& clock, Log& log) {
  const Result<std::string> aside = set_aside(path, clock.wall());
  if (!aside) return Status::error(damage + "; cannot set it aside: " + aside.error().message());
  log.write(
      Level::error,
      "damaged store set aside, recovering from nodes and broker; binding is paused until all nodes have reported",
      {{"error", damage}, {"kept", *aside}});
  return Status::ok();
}

}  // namespace

OpenedStore open_gateway_store(const std::string& path, const Clock& clock, Log& log) {
  auto store = SqliteStore::open(path, log);
  if (!store && store.error().kind == OpenError::Kind::corrupt) {
    if (Status gone = set_aside_and_log(path, store.error().message, clock, log); !gone.is_success()) {
      return hold_in_memory(gone.message(), log);
    }
    store = SqliteStore::open(path, log);
  }
  if (store) {
    std::string lost_commits = (*store)->lost_commits();
    return {std::move(*store), {}, std::move(lost_commits)};
  }
  if (store.error().kind != OpenError::Kind::locked) return hold_in_memory(store.error().message, log);
  log.write(Level::error, "cannot start", {{"error", store.error().message}});
  return {nullptr, store.error().message, {}};
}

bool is_damaged(const Store& store) {
  const auto* on_flash = dynamic_cast<const SqliteStore*>(&store);
  return on_flash != nullptr && !on_flash->has_failed();
}

OpenedStore replace_gateway_store(std::unique_ptr<Store> store, const std::string& path, const std::string& damage,
                                  const Clock& clock, Log& log) {
  store.reset();
  if (Status gone = set_aside_and_log(path, damage, clock, log); !gone.is_success()) {
    return hold_in_memory(gone.message(), log);
  }
  return open_gateway_store(path, clock, log);
}

}  // namespace berth
