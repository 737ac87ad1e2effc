// PlacementState: the rows and the release list of this gateway, in memory. The store has the same in Table::row and
// Table::release. PodLifecycle drives the rows, ReleaseList the entries; the others read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/keyed_pool.h"
#include "core/placement/binding.h"
#include "core/placement/live_epochs.h"

namespace berth {

struct UidOfBinding {
  const Text& operator()(const Binding& binding) const { return binding.row.uid; }
};
using Bindings = KeyedPool<Binding, UidOfBinding>;  // by pod uid; in no order that means anything

struct Release {
  ReleaseEntry entry;
  Timers::Id resend = 0;
  int resends = 0;
};
using Releases = std::map<std::string, Release>;  // by release_key()

struct PlacementState {
  Bindings bindings;
  Releases releases;
  LiveEpochs epochs;  // of both
  // By node: the highest epoch of its rows that were bound when this process started. Epochs of a node only rise, so
  // all that was bound there since is above.
  std::unordered_map<Text, Epoch, TextHash, std::equal_to<>> bound_before;

  void note_bound_before(const Row& row);
  bool was_bound_before(const Row& row) const;

  const Binding* find(std::string_view uid) const {
    const auto found = bindings.find(uid);
    return found == bindings.end() ? nullptr : &found->second;
  }
  Binding* find(std::string_view uid) {
    const auto found = bindings.find(uid);
    return found == bindings.end() ? nullptr : &found->second;
  }
};

// "<node>/<uid>/<epoch>", as in Table::release.
std::string release_key(const std::string& node, const std::string& uid, const Epoch& epoch);

// The rows of one node, by uid. Pointers live until the row ends.
std::vector<Binding*> rows_of(PlacementState& state, const std::string& node);

}  // namespace berth
