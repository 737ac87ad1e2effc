#include "firmware-host/agent/containers/image_collector.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth {

ImageCollector::ImageCollector(ImageStore& store, Marks marks, std::function<int()> used_percent, const Clock& clock,
                               Timers& timers, Log& log)
    : store_(store), marks_(marks), used_percent_(std::move(used_percent)), clock_(clock), timers_(timers), log_(log) {}

ImageCollector::~ImageCollector() { timers_.cancel(timer_); }

void ImageCollector::look() {
  timers_.cancel(timer_);
  timer_ = timers_.at(clock_.now() + kPeriodMs, [this] { look(); });
  if (!is_collecting_ && used_percent_() >= marks_.high_percent) collect();
}

void ImageCollector::remove_unused() {
  all_ = true;
  if (!is_collecting_) collect();
}

void ImageCollector::make_space() {
  if (!unused().empty()) remove_unused();
}

void ImageCollector::collect() {
  is_collecting_ = true;
  // What no image has any more goes first: layers of images that were replaced.
  store_.collect_garbage([this](const Result<ImageStore::Collected>& collected) { on_collected(collected); });
}

std::vector<ImageRecord> ImageCollector::unused() const {
  std::set<std::string> needed;
  for (const auto& [owner, image] : store_.pins()) needed.insert(image.reference);
  std::vector<ImageRecord> images = store_.list();
  std::erase_if(images, [&](const ImageRecord& image) { return needed.contains(image.reference); });
  return images;
}

bool ImageCollector::remove_oldest() {
  const std::vector<ImageRecord> images = unused();
  const auto oldest = std::min_element(images.begin(), images.end(),
                                       [](const ImageRecord& a, const ImageRecord& b) { return a.used < b.used; });
  if (oldest == images.end()) return false;
  const Result<ImageReference> reference = parse_image_reference(oldest->reference);
  const Status removed = reference ? store_.remove(*reference) : Status::error(reference.error().message());
  log_.write(removed.is_success() ? Level::info : Level::warn, "removed an image, since its disk is full",
             {{"image", oldest->reference}, {"error", removed.message()}});
  return removed.is_success();
}

void ImageCollector::on_collected(const Result<ImageStore::Collected>& collected) {
  const int used = used_percent_();
  if (collected && (all_ || used > marks_.low_percent) && remove_oldest()) {
    return store_.collect_garbage([this](const Result<ImageStore::Collected>& next) { on_collected(next); });
  }
  is_collecting_ = all_ = false;
  if (collected && used < marks_.high_percent) return;
  log_.write(Level::warn, "the disk of images is full, and pods need all that is left",
             {{"used", std::to_string(used) + " %"}, {"error", collected ? "" : collected.error().message()}});
}

int used_percent_of(const std::string& directory) {
  struct statvfs disk{};
  if (statvfs(directory.c_str(), &disk) != 0 || disk.f_blocks == 0) return -1;
  // As df(1): what only root may use counts as used.
  const auto used = static_cast<double>(disk.f_blocks - disk.f_bfree);
  const double all = used + static_cast<double>(disk.f_bavail);
  return all > 0 ? static_cast<int>(100.0 * used / all) : 100;
}

}  // namespace berth
