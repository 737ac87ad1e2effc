// Opens the gateway's store, or gives the reason why binding must be paused.
#pragma once

#include <memory>
#include <string>

#include "core/clock.h"
#include "core/log.h"
#include "core/store.h"

namespace berth {

struct OpenedStore {
  std::unique_ptr<Store> store;  // on flash, or in memory if `hold` is set; null: another process has it open
  std::string hold;              // not empty: bind nothing, for this reason
  std::string lost_commits;      // not empty: the store is older than what was committed, for this reason
};

// `path`: the database file. A damaged one is set aside under a dated name and replaced by a new one; the gateway then
// recovers its state from the nodes and the broker (P8). A store that cannot be opened, or that a newer program wrote,
// is left untouched.
OpenedStore open_gateway_store(const std::string& path, const Clock& clock, Log& log);

// After the gateway failed to start with this store: true if its records are invalid. False if the disk failed to read
// or write, which is not damage: the next start reads the store again.
bool is_damaged(const Store& store);

// For a store that opened but has invalid records: closes it, sets it aside and opens a new one.
OpenedStore replace_gateway_store(std::unique_ptr<Store> store, const std::string& path, const std::string& damage,
                                  const Clock& clock, Log& log);

}  // namespace berth
