// NeedsOfPods: what pods have decisions read of all nodes at once, so that it can be built before:
// Scheduler::prepare(). Noted when pods come, and kept when they go, as more of their workload may come. What is
// missing here is built by the decision that reads it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/cache/cache.h"

namespace berth {

struct Pod;

class NeedsOfPods {
 public:
  // The pod will be decided on.
  void note(const Pod& pod);
  Snapshot::Needs needs() const { return {label_keys_, pod_kinds_}; }

 private:
  // As many columns are kept without driving others out; further keys get theirs when they are first read.
  static constexpr std::size_t kKeys = 32;
  void note_key(const std::string& key);

  std::vector<std::string> label_keys_;
  bool pod_kinds_ = false;
};

}  // namespace berth
