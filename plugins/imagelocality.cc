#include "plugins/imagelocality.h"

#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/no_arguments.h"

namespace berth {

namespace {

constexpr std::int64_t kMebibyte = 1024 * 1024;
constexpr std::int64_t kLeastBytes = 23 * kMebibyte;  // a common base image; smaller sizes give no preference
constexpr std::int64_t kMostBytesPerContainer = 1000 * kMebibyte;

// "name" means "name:latest"; a colon before the last slash belongs to the registry's port.
std::string normalized(const std::string& image) {
  const std::size_t colon = image.rfind(':');
  const std::size_t slash = image.rfind('/');
  const bool tagged = colon != std::string::npos && (slash == std::string::npos || colon > slash);
  return tagged ? image : image + ":latest";
}

// Null: the node does not have the image.
const ImageState* find_image(const NodeInfo& node, const std::string& name) {
  std::size_t index = 0;
  for (const ContainerImage& image : node.node->images) {
    for (const std::string& each : image.names) {
      if (each == name) return &node.images[index];
      ++index;
    }
  }
  return nullptr;
}

// The images that the pod's containers run, one for each container.
std::vector<std::string> images_of(const Pod& pod) {
  std::vector<std::string> images;
  for (const auto* containers : {&pod.spec->init_containers.get(), &pod.spec->containers.get()}) {
    for (const Container& container : *containers) images.push_back(normalized(container.image));
  }
  return images;
}

std::int64_t score_of(const std::vector<std::string>& images, const NodeInfo& node, std::size_t nodes) {
  std::int64_t there = 0;
  for (const std::string& name : images) {
    const ImageState* image = find_image(node, name);
    if (image == nullptr) continue;
    const double spread = static_cast<double>(image->nodes) / static_cast<double>(nodes);
    there += static_cast<std::int64_t>(static_cast<double>(image->size_bytes) * spread);
  }
  const std::int64_t most =
      std::max(kMostBytesPerContainer * static_cast<std::int64_t>(images.size()), kLeastBytes + 1);
  return ScorePlugin::kMaxScore * (std::clamp(there, kLeastBytes, most) - kLeastBytes) / (most - kLeastBytes);
}

}  // namespace

Result<std::unique_ptr<Plugin>> ImageLocality::make(const Json& args, Handle& handle) {
  return make_without_arguments<ImageLocality>(args, handle);
}

bool ImageLocality::tells_apart(const Pod& a, const Pod& b) const {
  return handle_.snapshot().has_images() && images_of(a) != images_of(b);
}

Status ImageLocality::score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) {
  const Snapshot& snapshot = handle_.snapshot();
  score = snapshot.has_images() ? score_of(images_of(pod), node, snapshot.nodes().size()) : 0;
  return {};
}

bool ImageLocality::score_rows(CycleState&, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                               std::int32_t* scores) {
  std::fill(scores, scores + rows.size(), 0);
  if (!snapshot.has_images()) return true;
  const std::vector<std::string> images = images_of(pod);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const NodeInfo& node = *snapshot.nodes()[rows[row]];
    scores[row] = static_cast<std::int32_t>(score_of(images, node, snapshot.nodes().size()));
  }
  return true;
}

}  // namespace berth
