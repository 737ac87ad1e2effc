#include "plugins/defaultbinder.h"

#include "core/api/pod.h"
#include "plugins/no_arguments.h"

namespace berth {

Result<std::unique_ptr<Plugin>> DefaultBinder::make(const Json& args, Handle& handle) {
  return make_without_arguments<DefaultBinder>(args, handle);
}

Status DefaultBinder::bind(CycleState&, const Pod& pod, const std::string& node) {
  return handle_.binder().bind(pod, node);
}

}  // namespace berth
