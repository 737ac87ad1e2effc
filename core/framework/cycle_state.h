// CycleState: what plugins keep for one scheduling attempt of one pod (kube-scheduler framework/cycle_state.go).
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/recycled.h"

namespace berth {

// One plugin's entry. clone() is called when preemption or nominated pods try something on a copy.
class StateEntry {
 public:
  virtual ~StateEntry() = default;
  virtual std::unique_ptr<StateEntry> clone() const = 0;
};

// A few plugins by their names, which their framework holds.
class PluginNames {
 public:
  void insert(std::string_view plugin) {
    if (contains(plugin)) return;
    if (size_ < few_.size()) {
      few_[size_] = plugin;
    } else {
      more_.push_back(plugin);
    }
    ++size_;
  }
  void erase(std::string_view plugin) {
    PluginNames others;
    visit([&](std::string_view name) {
      if (name != plugin) others.insert(name);
      return false;
    });
    *this = std::move(others);
  }
  void clear() {
    size_ = 0;
    more_.clear();
  }
  bool contains(std::string_view plugin) const {
    return visit([plugin](std::string_view name) { return name == plugin; });
  }
  std::size_t size() const { return size_; }

 private:
  // Until `found` answers true.
  template <class Found>
  bool visit(const Found& found) const {
    const auto end = few_.begin() + static_cast<std::ptrdiff_t>(std::min(size_, few_.size()));
    return std::any_of(few_.begin(), end, found) || std::any_of(more_.begin(), more_.end(), found);
  }
  std::array<std::string_view, 8> few_;  // nearly always all: no allocation
  std::size_t size_ = 0;
  std::vector<std::string_view> more_;
};

class CycleState : public Recycled<CycleState> {
 public:
  CycleState() = default;
  CycleState(CycleState&&) = default;
  CycleState& operator=(CycleState&&) = default;

  // Key: the plugin's name, or that name and a suffix. Replaces what was there.
  void write(std::string_view key, std::unique_ptr<StateEntry> entry) {
    entries_.insert_or_assign(std::string(key), std::move(entry));
  }
  // Null when nothing was written. T is the type that was written under this key.
  template <class T>
  T* read(std::string_view key) const {
    auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : static_cast<T*>(found->second.get());
  }
  CycleState clone() const;

  // The durations of this cycle's plugins go into the metrics.
  bool sampled = false;

  // Plugins that answered Skip at PreFilter, PreScore or PreBindPreFlight; the runner leaves out their later points.
  PluginNames skip_filter;
  PluginNames skip_score;
  PluginNames skip_pre_bind;

  // During PostFilter: what is kept from attempt to attempt for pods of this one's class, for as long as nothing but
  // nodes, and pods on them, has changed. Null: nothing is, or Filter, AddPod and RemovePod look at more than one node.
  // Not owned; clones have none.
  CycleState* of_class = nullptr;

  // Uids of pods that a plugin wants tried again when this cycle succeeds (framework/types.go PodsToActivate). Clones
  // share it.
  std::set<std::string>& pods_to_activate() const {
    if (pods_to_activate_ == nullptr) pods_to_activate_ = std::make_shared<std::set<std::string>>();
    return *pods_to_activate_;
  }
  bool activates_pods() const { return pods_to_activate_ != nullptr && !pods_to_activate_->empty(); }

 private:
  mutable std::shared_ptr<std::set<std::string>> pods_to_activate_;  // null: nobody has asked for it yet
  std::map<std::string, std::unique_ptr<StateEntry>, std::less<>> entries_;
};

}  // namespace berth
