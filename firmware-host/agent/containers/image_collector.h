// ImageCollector: removes images that no pod needs when their disk fills, the one that was used longest ago first, as
// the kubelet does (pkg/kubelet/images/image_gc_manager.go): above the high mark, until it is below the low one.
#pragma once

#include <functional>
#include <vector>

#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"
#include "firmware-host/agent/images/image_store.h"

namespace berth {

class ImageCollector {
 public:
  struct Marks {
    int high_percent = 85;
    int low_percent = 80;
  };
  static constexpr Millis kPeriodMs = 300'000;

  // `used_percent`: of the disk that images are on; below 0: not known. All must outlive it.
  ImageCollector(ImageStore& store, Marks marks, std::function<int()> used_percent, const Clock& clock, Timers& timers,
                 Log& log);
  ~ImageCollector();
  ImageCollector(const ImageCollector&) = delete;
  ImageCollector& operator=(const ImageCollector&) = delete;

  // Looks at the disk now, and each kPeriodMs from then on.
  void look();
  // Removes all that no pod needs, however much of the disk is used: other things need it more.
  void remove_unused();
  // remove_unused() for an image that does not fit the disk. Without any to remove nothing is done: only what has come
  // of that image would go, to be fetched again in vain.
  void make_space();

 private:
  std::vector<ImageRecord> unused() const;
  // Removes one image and what it alone had. False: none is left that no pod needs.
  bool remove_oldest();
  void collect();
  void on_collected(const Result<ImageStore::Collected>& collected);

  ImageStore& store_;
  const Marks marks_;
  const std::function<int()> used_percent_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Timers::Id timer_ = 0;
  bool is_collecting_ = false;
  bool all_ = false;  // that no pod needs
};

// Of the file system that the directory is on; below 0: it cannot be told.
int used_percent_of(const std::string& directory);

}  // namespace berth
