// PullingRuntime: a Runtime that has the images of a pod fetched before the one behind it starts the pod. A pod whose
// images are missing counts as started meanwhile, as under a kubelet: its status says which image is being pulled, or
// why it cannot be (ErrImagePull, ImagePullBackOff, ErrImageNeverPull). Images are pinned for as long as the pod is
// here, so that it starts again without a registry; a pod that was started once asks for none again, whatever its
// imagePullPolicy is. All images are there before the first container starts, init containers included.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/agent/pod_objects.h"
#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"
#include "firmware-host/agent/containers/container_planner.h"
#include "firmware-host/agent/containers/image_need.h"
#include "firmware-host/agent/crash_backoff.h"
#include "firmware-host/agent/images/image_store.h"
#include "firmware-host/agent/recent_events.h"

namespace berth {

class PodPlanner;

class PullingRuntime final : public Runtime, public Runtime::Handler, public PodSources {
 public:
  // Waits after failed pulls (pkg/kubelet: the image puller has the back-off of containers).
  static constexpr CrashBackoff kBackoff{10'000, 300'000, 600'000};
  static constexpr Millis kProgressMs = 10'000;  // between two reports of how far a pull has come

  // All references must outlive it; the planner knows `behind`'s pods. `behind` gets this as its handler.
  PullingRuntime(Runtime& behind, const PodPlanner& planner, std::unique_ptr<ImageStore> store, const Clock& clock,
                 Timers& timers, Log& log, CrashBackoff backoff = kBackoff, Millis progress_ms = kProgressMs);
  ~PullingRuntime() override;

  ImageStore& images() { return *store_; }

  // While the disk is short, nothing is fetched that would fill it: pulls end, and their pods wait and say why. They
  // are tried again at once when it is over.
  void set_disk_pressure(bool is_short);

  void set_handler(Runtime::Handler* handler) override { handler_ = handler; }
  Result<std::vector<Tag>> list() override;
  Result<std::vector<std::string>> list_others(const std::string& fleet, const std::string& node) override {
    return behind_.list_others(fleet, node);
  }
  void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override {
    behind_.prepare(tag, pod, volumes);
  }
  Status check(const std::string& pod, const std::vector<BoundVolume>& volumes) override {
    return behind_.check(pod, volumes);
  }
  void undo(const Tag& tag) override;
  Result<std::string> start(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) override;
  void go(const Tag& tag) override;
  void stop(const Tag& tag, Millis grace) override;

  void set_objects(const PodObjects* objects) override {
    objects_ = objects;
    behind_.set_objects(objects);
  }
  // A pull may have waited for them.
  void objects_changed(const Tag& tag) override;

  Result<PlannedImage> image_of(const Tag& pod, const std::string& name) const override;

  void on_prepared(const Tag& tag, Status status) override;
  void on_status(const Tag& tag, const std::string& status, bool finished) override;
  void on_stopped(const Tag& tag) override;

 private:
  // An image that a waiting pod has not got.
  struct Missing {
    ImageNeed need;
    std::string why;     // of the last attempt; empty: it is being pulled
    bool never = false;  // it may not be pulled
    RestartDelay delay;
    Millis since = 0;
    Timers::Id retry = 0;
    bool is_backing_off = false;
    PullProgress progress;
  };
  struct Waiting {
    std::string manifest;
    std::vector<BoundVolume> volumes;
    std::map<std::string, Missing> images;  // by name, as in the manifest
    bool may_go = false;
    Timers::Id report = 0;
    Timers::Id look = 0;  // at the progress
  };

  void obtain(const Tag& tag, Missing& image);
  void on_pulled(const Tag& tag, const std::string& name, const Result<ImageRecord>& pulled);
  Status keep(const Tag& tag, const ImageNeed& need);
  void fail(const Tag& tag, Missing& image, std::string why);
  void warn_of_missing(const Tag& tag, const std::vector<std::string>& secrets);
  void tell_event(const Tag& tag, bool is_warning, const char* reason, const std::string& message);
  void retry_now(const Tag& tag);
  void wait_to_retry(const Tag& tag, Missing& image, Millis delay);
  Result<std::string> start_behind(const Tag& tag, const Waiting& waiting);
  void look_later(const Tag& tag);
  void report_later(const Tag& tag);
  void report(const Tag& tag);
  void forget(const Tag& tag);
  void unpin(const Tag& tag);

  Runtime& behind_;
  const PodPlanner& planner_;
  std::unique_ptr<ImageStore> store_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  const CrashBackoff backoff_;
  const Millis progress_ms_;
  Runtime::Handler* handler_ = nullptr;
  const PodObjects* objects_ = nullptr;
  bool disk_is_short_ = false;
  std::map<Tag, Waiting> waiting_;
  std::map<Tag, RecentEvents> events_;  // of pulls; they stay in the status of their pod
};

}  // namespace berth
