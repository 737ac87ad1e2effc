// The kinds of commits: for each, a short sequence of operations on a store.
#pragma once

#include <span>
#include <string_view>

#include "core/api/kind.h"
#include "tests/crash/session.h"

namespace berth::crash {

struct Kind {
  std::string_view name;
  SqliteStore::Options options;
  void (*prepare)(Session&);    // without faults, then a clean close; null: no store yet, or `older` is used
  bool left_by_power_cut;       // the store was not closed before act()
  bool opens;                   // act() opens the store itself, so faults affect that too
  void (*act)(Session&);        // with a fault; returns at the first failed commit
  const char* older = nullptr;  // file of a store of an earlier version, to use for act()
};

std::span<const Kind> kinds();

}  // namespace berth::crash
