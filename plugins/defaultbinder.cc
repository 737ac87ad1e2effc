#include "plugins/defaultbinder.h"

#include "plugins/no_arguments.h"

namespace berth {

Result<std::unique_ptr<Plugin>> DefaultBinder::make(const Json& args, Handle&) {
  return make_without_arguments<DefaultBinder>(args);
}

Status DefaultBinder::bind(CycleState&, const Pod&, const std::string&) { return {}; }

}  // namespace berth
