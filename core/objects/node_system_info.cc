#include "core/objects/node_system_info.h"

#include <cstddef>
#include <string>

namespace berth {

namespace {

constexpr std::size_t kLongestVersion = 128;

}  // namespace

Json node_info_of(const Json* said) {
  if (said == nullptr || !said->is_object()) return {};
  const std::string version = said->string_at("containerRuntimeVersion");
  if (version.empty() || version.size() > kLongestVersion) return {};
  return Json::object().set("containerRuntimeVersion", version);
}

}  // namespace berth
