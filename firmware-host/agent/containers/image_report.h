// ImageReport: which images a device says it has, so that pods are preferred where theirs are (ImageLocality). As the
// kubelet's node status (pkg/kubelet/nodestatus, Images()): the largest fifty, each with at most five names.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/agent/image_list.h"
#include "core/clock.h"
#include "core/timers.h"
#include "firmware-host/agent/images/image_store.h"

namespace berth {

class ImageReport final : public ImageList {
 public:
  static constexpr Millis kDelayMs = 5'000;       // after a change, of which several come together
  static constexpr Millis kIntervalMs = 120'000;  // between two reports: gateways take ten states in ten minutes

  // All must outlive it.
  ImageReport(ImageStore& store, const Clock& clock, Timers& timers);
  ~ImageReport() override;
  ImageReport(const ImageReport&) = delete;
  ImageReport& operator=(const ImageReport&) = delete;

  std::vector<ContainerImage> images() const override;
  void set_on_change(std::function<void()> on_change) override { on_change_ = std::move(on_change); }

 private:
  void report_later();

  ImageStore& store_;
  const Clock& clock_;
  Timers& timers_;
  std::function<void()> on_change_;
  Timers::Id timer_ = 0;
  Millis next_at_ = 0;  // not before
};

// Names of one image are together; one of docker.io has its short name too, as manifests write it.
std::vector<ContainerImage> container_images_of(const std::vector<ImageRecord>& records);

}  // namespace berth
