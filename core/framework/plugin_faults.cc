#include "core/framework/plugin_faults.h"

#include <utility>

namespace berth {

Status fault(const std::string& doing, const Text& plugin, const Status& status) {
  std::string text = status.message();
  if (status.code() != Code::error && !status.is_rejected()) {
    const std::string returned = "returned " + std::string(to_string(status.code())) + ", which is not valid here";
    text = text.empty() ? returned : returned + ": " + text;
  }
  return Status::error(doing + ": " + text).with_plugin(plugin);
}

std::string running(std::string_view point, std::string_view plugin) {
  return "running " + std::string(point) + " plugin \"" + std::string(plugin) + "\"";
}

Status rejected_or_fault(std::string_view point, const Text& plugin, Status status) {
  if (!status.is_rejected()) return fault(running(point, plugin), plugin, status);
  status.set_plugin(plugin);
  return status;
}

}  // namespace berth
