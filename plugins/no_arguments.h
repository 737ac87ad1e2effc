// For plugins that take no arguments: refuses arguments in a profile.
#pragma once

#include "core/framework/framework.h"

namespace berth {

// `needs`: arguments of the plugin's constructor.
template <class T, class... Needs>
Result<std::unique_ptr<Plugin>> make_without_arguments(const Json& args, Needs&... needs) {
  const bool empty = args.is_null() || (args.is_object() && args.as_object().empty());
  if (!empty) return Status::error("args: this plugin takes no arguments; remove them");
  return std::unique_ptr<Plugin>(std::make_unique<T>(needs...));
}

}  // namespace berth
