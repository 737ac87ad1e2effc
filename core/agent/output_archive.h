// OutputArchive: what ended workloads have written, kept on the device after their slots are gone.
#pragma once

#include <string>
#include <vector>

#include "core/agent/runtime.h"

namespace berth {

class OutputArchive {
 public:
  virtual ~OutputArchive() = default;
  // Moves the output of this workload, which has ended, to where it is kept; called before Runtime::stop() removes the
  // rest. Again, or without output: nothing happens. What cannot be kept is lost: a slot never waits for it.
  virtual void keep(const Tag& tag) = 0;
  // Removes what is kept of the pod up to this epoch.
  virtual void drop(const Tag& tag) = 0;
  // Of which workloads output is kept; bounded.
  virtual std::vector<Tag> kept() const = 0;
};

}  // namespace berth
