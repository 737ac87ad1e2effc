#include "plugins/prioritysort.h"

#include "core/api/pod.h"
#include "plugins/no_arguments.h"

namespace berth {

Result<std::unique_ptr<Plugin>> PrioritySort::make(const Json& args, Handle&) {
  return make_without_arguments<PrioritySort>(args);
}

bool PrioritySort::less(const QueuedPod& a, const QueuedPod& b) const {
  if (a.pod->priority != b.pod->priority) return a.pod->priority > b.pod->priority;
  return a.timestamp < b.timestamp;
}

}  // namespace berth
