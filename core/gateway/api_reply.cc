#include "core/gateway/api_reply.h"

namespace berth {

Json api_failure(const std::string& error) { return Json(Json::Object{{"ok", Json(false)}, {"error", Json(error)}}); }

Json api_success() { return Json(Json::Object{{"ok", Json(true)}}); }

std::string api_text(const Json& request, std::string_view key) {
  const Json* value = request.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

std::string api_pod_key(const Json& request) {
  const std::string name_space = api_text(request, "namespace");
  return (name_space.empty() ? "default" : name_space) + "/" + api_text(request, "name");
}

}  // namespace berth
