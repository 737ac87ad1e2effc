// CycleState: plugins' data for one scheduling attempt of one pod (kube-scheduler framework/cycle_state.go).
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/recycled.h"

namespace berth {

// One plugin's entry. Clones of a state share it copy-on-write.
class StateEntry {
 public:
  StateEntry() = default;
  StateEntry(const StateEntry&) {}
  StateEntry& operator=(const StateEntry&) { return *this; }
  virtual ~StateEntry() = default;
  virtual std::unique_ptr<StateEntry> clone() const = 0;

 private:
  friend class StateEntryRef;
  std::uint32_t users_ = 0;
};

class StateEntryRef {
 public:
  explicit StateEntryRef(std::unique_ptr<StateEntry> entry) : entry_(entry.release()) { ++entry_->users_; }
  StateEntryRef(const StateEntryRef& other) noexcept : entry_(other.entry_) { ++entry_->users_; }
  StateEntryRef(StateEntryRef&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  StateEntryRef& operator=(StateEntryRef other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~StateEntryRef() {
    if (entry_ != nullptr && --entry_->users_ == 0) delete entry_;
  }
  StateEntry* get() const { return entry_; }
  StateEntry* own() {
    if (entry_->users_ > 1) *this = StateEntryRef(entry_->clone());
    return entry_;
  }

 private:
  StateEntry* entry_;  // null: moved from
};

// A set of plugins of one framework, by Framework::Named::number.
inline constexpr std::size_t kPluginsMax = 256;
using PluginBits = std::bitset<kPluginsMax>;

class CycleState : public Recycled<CycleState> {
 public:
  CycleState() = default;
  CycleState(CycleState&&) = default;
  CycleState& operator=(CycleState&&) = default;

  // Entries are keyed by type, so each plugin uses types of its own. Replaces the previous entry of this type.
  template <class T>
  void write(std::unique_ptr<T> entry) {
    erase(&kKey<T>);
    entries_.push_back({&kKey<T>, StateEntryRef(std::move(entry))});
  }
  // Null when nothing was written.
  template <class T>
  const T* read() const {
    const Held* held = find(&kKey<T>);
    return held == nullptr ? nullptr : static_cast<const T*>(held->entry.get());
  }
  // Mutable access; copies the entry first when clones share it.
  template <class T>
  T* edit() {
    Held* held = find(&kKey<T>);
    return held == nullptr ? nullptr : static_cast<T*>(held->entry.own());
  }
  CycleState clone() const;
  // Becomes a clone of `other`, reusing this object's memory.
  void become(const CycleState& other);
  // Takes over the entries of `other`, in place of its own of the same types, and which plugins are skipped.
  void take_from(const CycleState& other);

  // The durations of this cycle's plugin calls are recorded in the metrics.
  bool sampled = false;

  // Plugins that returned Skip at PreFilter, PreScore or PreBindPreFlight; the runner skips the point that follows.
  PluginBits skip_filter;
  PluginBits skip_score;
  PluginBits skip_pre_bind;
  // How many plugins of PreBind have run, or are passed over; the next one waits for a provisioner.
  std::size_t pre_binds_done = 0;

  // During PostFilter: the state cached between attempts for pods of this pod's class, valid as long as only nodes, and
  // pods on them, change. Null: nothing is cached, or Filter, AddPod and RemovePod look at more than one node. Not
  // owned; clones have none.
  CycleState* of_class = nullptr;

  // Uids of pods that a plugin asks to move to active when this cycle succeeds (framework/types.go PodsToActivate).
  // Clones share the set.
  std::set<std::string>& pods_to_activate() const {
    if (pods_to_activate_ == nullptr) pods_to_activate_ = std::make_shared<std::set<std::string>>();
    return *pods_to_activate_;
  }
  bool activates_pods() const { return pods_to_activate_ != nullptr && !pods_to_activate_->empty(); }

 private:
  template <class T>
  static inline char kKey = 0;  // its address is the key
  struct Held {
    const void* key;
    StateEntryRef entry;
  };
  const Held* find(const void* key) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [key](const Held& each) { return each.key == key; });
    return found == entries_.end() ? nullptr : &*found;
  }
  Held* find(const void* key) { return const_cast<Held*>(std::as_const(*this).find(key)); }
  void erase(const void* key) {
    std::erase_if(entries_, [key](const Held& each) { return each.key == key; });
  }

  mutable std::shared_ptr<std::set<std::string>> pods_to_activate_;  // null until first used
  std::vector<Held> entries_;                                        // few
};

}  // namespace berth
