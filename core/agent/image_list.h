// ImageList: the images that a device has, which its state names.
#pragma once

#include <functional>
#include <vector>

#include "core/api/node.h"

namespace berth {

class ImageList {
 public:
  virtual ~ImageList() = default;
  // As of a kubelet's node status: the largest first, bounded in number and bytes.
  virtual std::vector<ContainerImage> images() const = 0;
  // Called when they may be others, not more often than gateways take states. Empty: nobody is.
  virtual void set_on_change(std::function<void()> on_change) = 0;
};

}  // namespace berth
