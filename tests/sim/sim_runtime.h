// SimRuntime: the workloads of one simulated machine. They are independent of the agent: they survive its crash and the
// loss of its store, and die when the machine reboots. Operations take virtual time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/agent/pod_objects.h"
#include "core/agent/runtime.h"
#include "core/random.h"
#include "core/timers.h"
#include "tests/sim/virtual_clock.h"

namespace berth::sim {

inline constexpr Millis kLongestStopMs = 2500;

class SimPool;

class SimRuntime final : public Runtime {
 public:
  enum class Work { preparing, prepared, held, running, ended, stopping_idle, stopping };

  struct Habits {
    std::uint64_t prepare_fails_percent = 0;
    std::uint64_t start_fails_percent = 0;
    bool cannot_probe = false;       // pods with probes are refused, until that is over
    std::uint64_t slow_percent = 0;  // preparations that take longer than the promise
    Millis longest_stop_ms = kLongestStopMs;
    std::uint64_t evicts_percent = 0;  // of workloads, which their machine ends after a while
    bool stop_is_a_lie = false;        // sabotage S4
    bool undo_is_a_lie = false;        // sabotage HELD
  };

  struct Hooks {
    std::function<void(std::string_view what)> note;    // for the trace
    std::function<void(const std::string& uid)> moved;  // the state of a workload or preparation has changed
    std::function<void()> after_call;                   // the agent was called: its turn ends
    std::function<void(std::string why)> misused;       // the agent violated the interface's contract
    std::function<void(const std::string& uid)> ended;  // a workload has finished by itself
    std::function<bool()> may_lack_volumes;             // what the agent knows of them is of another time
    std::function<void()> evicted;                      // the machine has decided to end a workload
  };

  // Clock and timers are those of the simulation.
  SimRuntime(const VirtualClock& clock, Timers& timers, std::uint64_t seed, Hooks hooks);

  void set_handler(Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override;
  Result<std::vector<std::string>> list_others(const std::string&, const std::string&) override {
    return std::vector<std::string>();  // a machine has one agent
  }
  void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  Status check(const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void undo(const Tag& tag) override;
  Result<std::string> start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void go(const Tag& tag) override;
  void stop(const Tag& tag, Millis grace) override;

  void set_objects(const PodObjects* objects) override { objects_ = objects; }
  // Where the agent that runs now has its pods' ConfigMaps and Secrets; null: none runs.
  const PodObjects* objects() const { return objects_; }
  void set_habits(Habits habits) { habits_ = habits; }
  // What it can do; none: everything.
  void set_features(std::optional<std::vector<std::string>> features) { features_ = std::move(features); }
  // Volumes below this directory are there if the pool has made them.
  void set_pool(const std::string& root, SimPool& pool) {
    pool_root_ = root + "/";
    pool_ = &pool;
  }
  // The agent's process has died. What it held stays held, until the next agent takes it over or removes it.
  void agent_died();
  void reboot();

  // Everything created for a pod and not removed yet.
  void for_each(const std::function<void(const Tag& tag, bool alive)>& visit) const;
  // Whether its workload is running.
  bool is_alive(const Tag& tag) const;
  std::vector<Tag> alive() const;
  std::vector<Tag> alive(const std::string& uid) const;
  std::uint64_t started() const { return started_; }

 private:
  struct Item {
    Work work = Work::preparing;
    Timers::Id timer = 0;
    bool evicted = false;      // on the machine's disk: nothing of it runs again
    Millis lasts = 0;          // run time of the workload; 0: unlimited
    std::string refusal = {};  // why it will not be prepared; empty: it will
    std::string pid;
    std::vector<BoundVolume> volumes = {};  // written to once it runs
  };

  void later(const Tag& tag, Millis delay, std::function<void()> run);
  void prepared(const Tag& tag);
  void evict(const Tag& tag);
  void ended(const Tag& tag);
  void report_end(const Tag& tag);
  void stopped(const Tag& tag);
  void report(const Tag& tag, std::string_view phase, bool finished);
  void note(std::string_view what, const Tag& tag) const;
  void call(const std::function<void(Handler&)>& what);
  std::string missing_volume(const std::vector<BoundVolume>& volumes) const;

  const VirtualClock& clock_;
  Timers& timers_;
  Random random_;
  Random evictions_;  // apart: what else happens stays the same
  Hooks hooks_;
  Habits habits_;
  std::optional<std::vector<std::string>> features_;
  SimPool* pool_ = nullptr;  // none
  std::string pool_root_;
  Handler* handler_ = nullptr;
  const PodObjects* objects_ = nullptr;
  std::map<Tag, Item> items_;
  std::set<Tag> evicted_;  // ever
  std::uint64_t started_ = 0;
  int depth_ = 0;  // nesting of calls from the agent
};

std::string to_text(const Tag& tag);
// Of a manifest, without parsing, for speed.
bool asks_for_probes(std::string_view pod);

}  // namespace berth::sim
