// PrioritySort: orders the active queue by higher priority, then by earlier entry.
// Point: QueueSort. Cost: two comparisons.
// Source: kube-scheduler pkg/scheduler/framework/plugins/queuesort/priority_sort.go.
#pragma once

#include "core/framework/framework.h"

namespace berth {

class PrioritySort final : public QueueSortPlugin {
 public:
  static constexpr std::string_view kName = "PrioritySort";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override;
};

}  // namespace berth
