// SimPool: the directories that one simulated device has made below its pool. They survive the agent and its store.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/pool_directories.h"
#include "tests/sim/crash_point.h"

namespace berth::sim {

inline constexpr char kPooledClass[] = "pooled";
inline constexpr std::size_t kPooledClaims = 3;  // "v0" to "v2": more than one pool has room for

inline std::string pool_root(const std::string& node) { return "/simulated/" + node + "/pool"; }

class SimPool final : public PoolDirectories {
 public:
  explicit SimPool(std::function<void(std::string_view what)> note) : note_(std::move(note)) {}

  Status make(const std::string& /*root*/, const std::string& volume, std::int64_t /*bytes*/) override {
    const auto [found, is_new] = directories_.try_emplace(volume);
    if (is_new) note_("pool: makes " + volume);
    found->second.is_limited = true;
    return found->second.written == 0 ? Status::ok() : Status::error(volume + " is not empty");
  }
  Status limit(const std::string& /*root*/, const std::string& volume, std::int64_t /*bytes*/) override {
    const auto found = directories_.find(volume);
    if (found != directories_.end()) found->second.is_limited = true;
    return Status::ok();
  }
  // What a reboot may do: somebody has checked the disk without its quotas.
  void lose_limits() {
    for (auto& [volume, directory] : directories_) directory.is_limited = false;
  }
  // What was written takes a step each.
  Result<bool> remove(const std::string& /*root*/, const std::string& volume, int /*entries*/) override {
    const auto found = directories_.find(volume);
    if (found == directories_.end()) return true;
    if (found->second.written > 0) return --found->second.written < 0;
    note_("pool: removes " + volume);
    directories_.erase(found);
    return true;
  }
  std::vector<std::string> list(const std::string& /*root*/) override {
    std::vector<std::string> names;
    for (const auto& [volume, directory] : directories_) names.push_back(volume);
    return names;
  }
  bool has(const std::string& volume) const { return directories_.contains(volume); }
  // A workload runs with it.
  void write(const std::string& volume) { directories_.at(volume).written = 2; }
  struct Directory {
    int written = 0;
    bool is_limited = false;
  };
  const std::map<std::string, Directory>& all() const { return directories_; }

 private:
  std::function<void(std::string_view what)> note_;
  std::map<std::string, Directory> directories_;  // by volume
};

// As the agent sees it: it may die at each call.
class CutPool final : public PoolDirectories {
 public:
  CutPool(SimPool& machine, CrashPoint& point, bool limits_again)
      : machine_(machine), point_(point), limits_again_(limits_again) {}
  Status make(const std::string& root, const std::string& volume, std::int64_t bytes) override {
    return point_.allows_effect() ? machine_.make(root, volume, bytes) : Status::error("the agent is dead");
  }
  Status limit(const std::string& root, const std::string& volume, std::int64_t bytes) override {
    if (!limits_again_) return Status::ok();
    return point_.allows_effect() ? machine_.limit(root, volume, bytes) : Status::error("the agent is dead");
  }
  Result<bool> remove(const std::string& root, const std::string& volume, int entries) override {
    return point_.allows_effect() ? machine_.remove(root, volume, entries) : Status::error("the agent is dead");
  }
  std::vector<std::string> list(const std::string& root) override { return machine_.list(root); }

 private:
  SimPool& machine_;
  CrashPoint& point_;
  bool limits_again_;  // false: a mutant
};

}  // namespace berth::sim
