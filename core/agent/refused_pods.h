// RefusedPods: the pods that the runtime could not prepare, looked at again now and then, so that a gateway need not
// ask again: what is refused under an id is refused for as long as the node's state has that id (D6). In memory only: a
// new start has another id.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/random.h"
#include "core/timers.h"

namespace berth {

class RefusedPods {
 public:
  static constexpr std::size_t kMaxPods = 64, kMaxBytes = 256 * 1024;  // of manifests; further ones are not looked at
  static constexpr Millis kLookEveryMs = 10'000;
  // When all are used up, and some are as old as this, their pods may be gone: all are asked about again.
  static constexpr Millis kKeptMs = 3'600'000;

  // `changed` is called when id() has. All references must outlive this.
  RefusedPods(Runtime& runtime, const Clock& clock, Timers& timers, std::uint64_t seed, std::function<void()> changed);
  ~RefusedPods();
  RefusedPods(const RefusedPods&) = delete;
  RefusedPods& operator=(const RefusedPods&) = delete;

  const std::string& id() const { return id_; }
  // prepare() has failed. True: it will fail again for as long as id() stays.
  bool add(const std::string& uid, const std::string& pod, const std::vector<BoundVolume>& volumes);

 private:
  struct Refused {
    std::string pod;
    std::vector<BoundVolume> volumes;
    std::string reason;
    Millis since = 0;
  };
  void look_again();
  void begin_anew();

  Runtime& runtime_;
  const Clock& clock_;
  Timers& timers_;
  Random random_;
  std::function<void()> changed_;
  std::string id_;
  std::map<std::string, Refused> pods_;  // by uid
  std::size_t bytes_ = 0;
  Timers::Id timer_ = 0;
};

}  // namespace berth
