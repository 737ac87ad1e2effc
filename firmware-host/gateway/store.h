// Opens the gateway's store, or says why nothing may be bound without it.
#pragma once

#include <memory>
#include <string>

#include "core/clock.h"
#include "core/log.h"
#include "core/store.h"

namespace berth {

struct OpenedStore {
  std::unique_ptr<Store> store;  // on flash, or in memory while `hold` stands; null: another process has it
  std::string hold;              // not empty: bind nothing; for the operator
};

// `path`: the database file. A damaged one is set aside under a name that says when, and a fresh one takes its place:
// the gateway then learns from the nodes and the broker what it knew (P8). One that cannot be opened, or that a newer
// program wrote, is left where it is.
OpenedStore open_gateway_store(const std::string& path, const Clock& clock, Log& log);

// What it means that the gateway could not start with the store: its records make no sense, or, false, the disk refused
// to read or write them. That is no damage: what it holds is read again at the next start.
bool is_damaged(const Store& store);

// For a store that opened but does not make sense to the gateway (a record that cannot be read): closes it, sets it
// aside and opens a fresh one.
OpenedStore replace_gateway_store(std::unique_ptr<Store> store, const std::string& path, const std::string& damage,
                                  const Clock& clock, Log& log);

}  // namespace berth
