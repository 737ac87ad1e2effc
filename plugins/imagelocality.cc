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

std::int64_t bytes_there(const std::vector<Container>& containers, const NodeInfo& node, std::size_t nodes) {
  std::int64_t sum = 0;
  for (const Container& container : containers) {
    const ImageState* image = find_image(node, normalized(container.image));
    if (image == nullptr) continue;
    const double spread = static_cast<double>(image->nodes) / static_cast<double>(nodes);
    sum += static_cast<std::int64_t>(static_cast<double>(image->size_bytes) * spread);
  }
  return sum;
}

}  // namespace

Result<std::unique_ptr<Plugin>> ImageLocality::make(const Json& args, Handle& handle) {
  return make_without_arguments<ImageLocality>(args, handle);
}

bool ImageLocality::tells_apart(const Pod& a, const Pod& b) const {
  const auto are_same = [](const std::vector<Container>& x, const std::vector<Container>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Container& one, const Container& other) { return one.image == other.image; });
  };
  return !are_same(a.init_containers, b.init_containers) || !are_same(a.containers, b.containers);
}

Status ImageLocality::score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) {
  const Snapshot& snapshot = handle_.snapshot();
  if (!snapshot.has_images()) {
    score = 0;
    return {};
  }
  const std::size_t nodes = snapshot.nodes().size();
  const std::int64_t there = bytes_there(pod.init_containers, node, nodes) + bytes_there(pod.containers, node, nodes);
  const auto containers = static_cast<std::int64_t>(pod.init_containers.size() + pod.containers.size());
  const std::int64_t most = std::max(kMostBytesPerContainer * containers, kLeastBytes + 1);
  score = kMaxScore * (std::clamp(there, kLeastBytes, most) - kLeastBytes) / (most - kLeastBytes);
  return {};
}

}  // namespace berth
