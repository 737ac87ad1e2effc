// For plugins that take no arguments: a profile that gives some is told so.
#pragma once

#include "core/framework/framework.h"

namespace berth {

// `needs`: what the plugin's constructor takes.
template <class T, class... Needs>
Result<std::unique_ptr<Plugin>> make_without_arguments(const Json& args, Needs&... needs) {
  const bool empty = args.is_null() || (args.is_object() && args.as_object().empty());
  if (!empty) return Status::error("args: this plugin takes none; remove them");
  return std::unique_ptr<Plugin>(std::make_unique<T>(needs...));
}

}  // namespace berth
