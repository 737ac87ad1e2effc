// SimPuller: the part of a device's agent that fetches images, as firmware-host/agent/containers/pulling_runtime.h: a
// pod whose image is missing counts as started, with status Pending, and starts once the image is there. It dies with
// the agent; SimImages, the disk that it fetches to, does not.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/runtime.h"
#include "core/random.h"
#include "core/timers.h"
#include "tests/sim/mutants.h"
#include "tests/sim/virtual_clock.h"

namespace berth::sim {

// The images on one machine's disk, one per pod: parts that have been fetched survive a power cut.
class SimImages {
 public:
  struct Habits {
    std::uint64_t missing_percent = 0;  // of pods, whose image has to be fetched
    std::uint64_t fails_percent = 0;    // of the parts
    Millis ms_per_day = 0;              // of fetching (containers.image_bytes_per_day); 0: unlimited
  };

  // The clock is the simulation's.
  explicit SimImages(const VirtualClock& clock) : clock_(clock) {}

  // `seed`: a random stream of its own, so that what else happens stays the same.
  void set_habits(Habits habits, std::uint64_t seed) {
    habits_ = habits;
    random_ = Random(seed);
  }
  // Pins the pod's image. Whether all of it is there.
  bool pin(const Tag& tag);
  // Whether some of it was fetched, but not all.
  bool is_partial(const Tag& tag) const;
  // The next part of a pinned image. An error: nothing was fetched.
  Status fetch(const Tag& tag);
  void unpin(const Tag& tag) { images_.erase(tag); }
  // Unpins those of all other pods.
  void keep_only(const std::vector<Tag>& tags);

 private:
  struct Image {
    Millis size = 0;  // as the time that it takes
    Millis left = 0;
  };

  const VirtualClock& clock_;
  Random random_{0};
  Habits habits_;
  std::map<Tag, Image> images_;
  Millis day_ = 0;
  Millis fetched_today_ = 0;
};

class SimPuller final : public Runtime, private Runtime::Handler {
 public:
  struct Hooks {
    std::function<void(std::string_view what, const Tag& tag)> note;  // for trace and counts
    std::function<void(const Tag& tag)> fetches;  // a part of the pod's image is about to be fetched
  };

  // All references must outlive it; clock and timers are those of the agent's run.
  SimPuller(Runtime& behind, SimImages& images, const Clock& clock, Timers& timers, Mutant mutant, Hooks hooks);
  ~SimPuller() override;
  SimPuller(const SimPuller&) = delete;
  SimPuller& operator=(const SimPuller&) = delete;

  void set_handler(Runtime::Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override;
  Result<std::vector<std::string>> list_others(const std::string& fleet, const std::string& node) override {
    return behind_.list_others(fleet, node);
  }
  void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  Status check(const std::string& pod, const std::vector<BoundVolume>& volumes) override {
    return behind_.check(pod, volumes);
  }
  void undo(const Tag& tag) override;
  Result<std::string> start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void go(const Tag& tag) override;
  void stop(const Tag& tag, Millis grace) override;
  void set_objects(const PodObjects* objects) override { behind_.set_objects(objects); }
  void objects_changed(const Tag& tag) override { behind_.objects_changed(tag); }

 private:
  struct Waiting {
    std::string pod;
    std::vector<BoundVolume> volumes;
    bool may_go = false;
    bool is_told = false;  // that its image is being fetched
    Timers::Id timer = 0;
    Millis delay = 0;  // after the last failure; 0: there was none since a part came
  };

  void on_prepared(const Tag& tag, Status status) override;
  void on_status(const Tag& tag, const std::string& status, bool finished) override;
  void on_stopped(const Tag& tag) override;

  void wait(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes);
  void fetch_later(const Tag& tag, Millis delay);
  void fetch(const Tag& tag);
  void report(const Tag& tag, std::string_view reason, const std::string& message);
  void start_behind(const Tag& tag);
  void forget(const Tag& tag);

  Runtime& behind_;
  SimImages& images_;
  const Clock& clock_;
  Timers& timers_;
  const Mutant mutant_;
  const Hooks hooks_;
  Runtime::Handler* handler_ = nullptr;
  std::map<Tag, Waiting> waiting_;
};

}  // namespace berth::sim
