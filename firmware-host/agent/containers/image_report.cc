#include "firmware-host/agent/containers/image_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/stable_sort.h"

namespace berth {

namespace {

constexpr std::size_t kMostImages = 50;            // nodeStatusMaxImages of the kubelet's configuration
constexpr std::size_t kMostNames = 5;              // MaxNamesPerImageInNodeStatus
constexpr std::size_t kMostNameBytes = 16 * 1024;  // of all: a state is one message
constexpr std::string_view kHub = "docker.io/";
constexpr std::string_view kOfficial = "library/";

void add_names(std::vector<std::string>& names, const std::string& reference) {
  names.push_back(reference);
  if (!reference.starts_with(kHub)) return;
  std::string_view name = std::string_view(reference).substr(kHub.size());
  if (name.starts_with(kOfficial)) name.remove_prefix(kOfficial.size());
  names.emplace_back(name);
}

}  // namespace

std::vector<ContainerImage> container_images_of(const std::vector<ImageRecord>& records) {
  std::map<std::string, ContainerImage> by_manifest;
  for (const ImageRecord& record : records) {
    ContainerImage& image = by_manifest[record.manifest];
    image.size_bytes = record.size;
    add_names(image.names, record.reference);
  }
  std::vector<ContainerImage> images;
  for (auto& [manifest, image] : by_manifest) images.push_back(std::move(image));
  stable_sort(images,
              [](const ContainerImage& one, const ContainerImage& other) { return one.size_bytes > other.size_bytes; });
  if (images.size() > kMostImages) images.resize(kMostImages);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].names.size() > kMostNames) images[i].names.resize(kMostNames);
    for (const std::string& name : images[i].names) bytes += name.size();
    if (bytes > kMostNameBytes) images.resize(i);
  }
  return images;
}

ImageReport::ImageReport(ImageStore& store, const Clock& clock, Timers& timers)
    : store_(store), clock_(clock), timers_(timers) {
  store_.set_on_change([this] { report_later(); });
}

ImageReport::~ImageReport() {
  store_.set_on_change({});
  timers_.cancel(timer_);
}

std::vector<ContainerImage> ImageReport::images() const { return container_images_of(store_.list()); }

void ImageReport::report_later() {
  if (timer_ != 0) return;
  timer_ = timers_.at(std::max(clock_.now() + kDelayMs, next_at_), [this] {
    timer_ = 0;
    next_at_ = clock_.now() + kIntervalMs;
    if (on_change_) on_change_();
  });
}

}  // namespace berth
