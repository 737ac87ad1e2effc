// SimPool: the directories that one simulated device has made below its pool. They survive the agent and its store.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/pool_directories.h"
#include "tests/sim/crash_point.h"
#include "tests/sim/mutants.h"

namespace berth::sim {

inline constexpr char kPooledClass[] = "pooled";
inline constexpr std::size_t kPooledClaims = 3;  // "v0" to "v2": more than one pool has room for

inline std::string pool_root(const std::string& node) { return "/simulated/" + node + "/pool"; }

class SimPool final : public PoolDirectories {
 public:
  struct Hooks {
    std::function<void(std::string_view what)> note;
    std::function<void(const std::string& why)> misused;
  };
  explicit SimPool(Hooks hooks) : hooks_(std::move(hooks)) {}

  Status make(const std::string& /*root*/, const std::string& volume, std::int64_t /*bytes*/) override {
    const auto [found, is_new] = directories_.try_emplace(volume);
    if (is_new) hooks_.note("pool: makes " + volume);
    found->second.is_limited = true;
    return found->second.written == 0 ? Status::ok() : Status::error(volume + " is not empty");
  }
  Result<bool> is_free(const std::string& /*root*/, const std::string& volume) override {
    const auto found = directories_.find(volume);
    return found == directories_.end() || found->second.written == 0;
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
    if (found->second.written > 0 && !found->second.is_ordered) hooks_.misused("removes what is in " + volume);
    if (found->second.written > 0) return --found->second.written < 0;
    hooks_.note("pool: removes " + volume);
    directories_.erase(found);
    return true;
  }
  std::vector<std::string> list(const std::string& /*root*/) override {
    std::vector<std::string> names;
    for (const auto& [volume, directory] : directories_) names.push_back(volume);
    return names;
  }
  bool has(const std::string& volume) const { return directories_.contains(volume); }
  // Somebody puts data where a volume is about to be made.
  void put(const std::string& volume) {
    if (has(volume)) return;
    hooks_.note("pool: somebody puts data at " + volume);
    directories_[volume] = {.written = 2, .is_foreign = true};
  }
  // Who put it there, unless it became a volume.
  void take_away(const std::string& volume) {
    const auto found = directories_.find(volume);
    if (found == directories_.end() || !found->second.is_foreign) return;
    hooks_.note("pool: somebody takes their data from " + volume);
    directories_.erase(found);
  }
  // The gateway says that nobody needs what is in it.
  void order_removal(const std::string& volume) {
    if (has(volume)) directories_[volume].is_ordered = true;
  }
  // A workload runs with it.
  void write(const std::string& volume) { directories_[volume].written = 2; }
  struct Directory {
    int written = 0;
    bool is_limited = false;
    bool is_ordered = false;  // to be removed with what is in it
    bool is_foreign = false;  // put there
  };
  const std::map<std::string, Directory>& all() const { return directories_; }

 private:
  Hooks hooks_;
  std::map<std::string, Directory> directories_;  // by volume
};

// As the agent sees it: it may die at each call.
class CutPool final : public PoolDirectories {
 public:
  // `mutant`: of those about pools.
  CutPool(SimPool& machine, CrashPoint& point, Mutant mutant) : machine_(machine), point_(point), mutant_(mutant) {}
  Status make(const std::string& root, const std::string& volume, std::int64_t bytes) override {
    return point_.allows_effect() ? machine_.make(root, volume, bytes) : Status::error("the agent is dead");
  }
  Result<bool> is_free(const std::string& root, const std::string& volume) override {
    return mutant_ == Mutant::n11e ? Result<bool>(true) : machine_.is_free(root, volume);
  }
  Status limit(const std::string& root, const std::string& volume, std::int64_t bytes) override {
    if (mutant_ == Mutant::n11l) return Status::ok();
    return point_.allows_effect() ? machine_.limit(root, volume, bytes) : Status::error("the agent is dead");
  }
  Result<bool> remove(const std::string& root, const std::string& volume, int entries) override {
    return point_.allows_effect() ? machine_.remove(root, volume, entries) : Status::error("the agent is dead");
  }
  std::vector<std::string> list(const std::string& root) override { return machine_.list(root); }

 private:
  SimPool& machine_;
  CrashPoint& point_;
  Mutant mutant_;
};

}  // namespace berth::sim
