#include "core/fastpath/base_views.h"

#include <algorithm>

#include "core/fastpath/pod_class.h"

namespace berth {

std::shared_ptr<BaseView> BaseViews::find_or_make(const BaseView::Of& of, const Snapshot& snapshot) {
  const bool with_images = snapshot.has_images();
  if (of.sums != nullptr) return std::make_shared<BaseView>(common_, of, with_images);
  const std::size_t hash = hash_of_demands(of.pod);
  const auto [first, last] = shared_.equal_range(hash);
  for (auto each = first; each != last; ++each) {
    std::shared_ptr<BaseView> view = each->second.lock();
    if (view != nullptr && view->serves(of.pod, of.domains, with_images)) return view;
  }
  if (shared_.size() >= most_) {
    std::erase_if(shared_, [](const auto& each) { return each.second.expired(); });
    most_ = std::max(most_, 2 * shared_.size());
  }
  auto made = std::make_shared<BaseView>(common_, of, with_images);
  shared_.emplace(hash, made);
  return made;
}

}  // namespace berth
