#include "core/gateway/api_reply.h"

#include <vector>

#include "core/api/names.h"

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

Result<Message> api_answer(const Topics& topics, const Message& message,
                           const std::function<Json(const Json&)>& answer) {
  // The only place a response topic may name is the client's own (core/handshake/rules.md, Topics).
  const std::vector<std::string_view> levels = topics.split(message.response_topic);
  const bool own = levels.size() >= 2 && levels[0] == "clients" && is_valid_name(levels[1]) &&
                   message.response_topic.find_first_of("+#") == std::string::npos;
  if (!own) return Status::error("response topic \"" + message.response_topic + "\" is not under clients/");
  const Result<Json> request = Json::parse(message.payload);
  Json reply = request ? answer(*request) : api_failure(request.error().message());
  if (request) {
    if (const Json* id = request->find("id")) reply.set("id", *id);
  }
  Message answered;
  answered.topic = message.response_topic;
  answered.correlation = message.correlation;
  answered.payload = reply.dump();
  return answered;
}

}  // namespace berth
