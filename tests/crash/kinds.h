// The kinds of commits, each as a small piece of the life of a store.
#pragma once

#include <span>
#include <string_view>

#include "tests/crash/session.h"

namespace berth::crash {

struct Kind {
  std::string_view name;
  SqliteStore::Options options;
  void (*prepare)(Session&);    // without faults, then a clean end; null: there is no store yet, or `older` is it
  bool left_by_power_cut;       // the store that act() meets was not closed
  bool opens;                   // act() opens the store itself: faults hit that too
  void (*act)(Session&);        // with a fault somewhere; returns at the first failed commit
  const char* older = nullptr;  // the file of a store of an earlier version, which act() meets
};

std::span<const Kind> kinds();

}  // namespace berth::crash
