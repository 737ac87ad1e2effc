// Pods that wait on Permit: shown to operators, allowed and rejected by them, by plugins and by time.
#include <algorithm>
#include <utility>

#include "core/gateway/gateway.h"

namespace berth {

namespace {

constexpr std::size_t kPageBytes = 48 * 1024;

Json failure(const std::string& error) { return Json(Json::Object{{"ok", Json(false)}, {"error", Json(error)}}); }

std::string text_of(const Json& request, std::string_view key) {
  const Json* value = request.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

std::string key_of_pod(const Json& request) {
  const std::string name_space = text_of(request, "namespace");
  return (name_space.empty() ? "default" : name_space) + "/" + text_of(request, "name");
}

std::vector<std::string> names_of(const WaitingPod& waiting) {
  std::vector<std::string> names;
  for (const auto& [plugin, wait] : waiting.plugins) names.push_back(plugin);
  return names;
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

void Gateway::deliver_permits() {
  WaitingPods& waiting = scheduler_.waiting_pods();
  for (auto decided = waiting.take_decided(); !decided.empty(); decided = waiting.take_decided()) {
    for (auto& [uid, status] : decided) feed_permit(uid, std::move(status));
  }
  timers_.cancel(permit_timer_);
  if (const std::optional<Millis> next = waiting.next_deadline()) {
    permit_timer_ = timers_.at(*next, [this] {
      permit_timer_ = 0;
      scheduler_.waiting_pods().expire(clock_.now());
      deliver_permits();
    });
  }
}

// Pages as those of get.
Json Gateway::api_waiting(const Json& request) const {
  const std::string name_space = text_of(request, "namespace");
  const std::string from = text_of(request, "continue");
  std::map<std::string, const WaitingPod*> by_key;
  for (const auto& [uid, waiting] : scheduler_.waiting_pods().all()) by_key[waiting.pod->metadata.key()] = &waiting;
  Json reply(Json::Object{{"ok", Json(true)}});
  Json items = Json::array();
  std::size_t bytes = 0;
  for (const auto& [key, waiting] : by_key) {
    if (key < from || (!name_space.empty() && waiting->pod->metadata.namespace_ != name_space)) continue;
    Json plugins = Json::array();
    for (const auto& [plugin, wait] : waiting->plugins) {
      Json each = Json::object();
      each.set("name", plugin).set("remainingMs", std::max<Millis>(wait.deadline - clock_.now(), 0));
      plugins.push_back(std::move(each));
    }
    Json item = Json::object();
    item.set("namespace", waiting->pod->metadata.namespace_.get()).set("name", waiting->pod->metadata.name);
    item.set("uid", waiting->pod->uid().get()).set("node", waiting->node).set("plugins", std::move(plugins));
    bytes += item.dump().size() + 1;
    if (bytes > kPageBytes && !items.as_array().empty()) {
      reply.set("continue", key);
      break;
    }
    items.push_back(std::move(item));
  }
  return reply.set("items", std::move(items));
}

// Null when the pod does not wait, or not for the plugin that the request names: `why` says so.
const WaitingPod* Gateway::waiting_of(const Json& request, std::string& why) const {
  if (text_of(request, "name").empty()) {
    why = "name: the name of a pod is wanted";
    return nullptr;
  }
  const std::string key = key_of_pod(request);
  const PodEntry* entry = objects_.find_pod(key);
  const WaitingPod* waiting = entry == nullptr ? nullptr : scheduler_.waiting_pods().find(entry->pod->uid());
  if (waiting == nullptr) {
    why = "Pod \"" + key + "\" " + (entry == nullptr ? "not found" : "does not wait on permit");
    return nullptr;
  }
  const std::string plugin = text_of(request, "plugin");
  if (plugin.empty() || waiting->plugins.contains(plugin)) return waiting;
  why = "plugin: Pod \"" + key + "\" does not wait for \"" + plugin + "\"; it waits for " + join(names_of(*waiting));
  return nullptr;
}

// Without a plugin: for all that hold it back.
Json Gateway::api_allow(const Json& request) {
  std::string why;
  const WaitingPod* waiting = waiting_of(request, why);
  if (waiting == nullptr) return failure(why);
  const std::string uid = waiting->pod->uid();
  std::vector<std::string> plugins = names_of(*waiting);
  if (const std::string plugin = text_of(request, "plugin"); !plugin.empty()) plugins = {plugin};
  for (const std::string& plugin : plugins) scheduler_.waiting_pods().allow(uid, plugin);
  const WaitingPod* still = scheduler_.waiting_pods().find(uid);
  const std::string result = still == nullptr ? "allowed" : "still waits for " + join(names_of(*still));
  publisher_.mark(Kind::pod, key_of_pod(request));
  deliver_permits();
  return Json(Json::Object{{"ok", Json(true)}, {"result", Json(result)}, {"key", Json(key_of_pod(request))}});
}

// The pod goes back to the queue as rejected by the plugin, or by the first that holds it back: what that plugin
// registered for wakes it.
Json Gateway::api_reject(const Json& request) {
  std::string why;
  const WaitingPod* waiting = waiting_of(request, why);
  if (waiting == nullptr) return failure(why);
  std::string plugin = text_of(request, "plugin");
  if (plugin.empty()) plugin = waiting->plugins.begin()->first;
  const std::string reason = text_of(request, "reason");
  scheduler_.waiting_pods().reject(waiting->pod->uid(), plugin, reason.empty() ? "rejected by an operator" : reason);
  deliver_permits();
  return Json(Json::Object{{"ok", Json(true)}, {"result", Json("rejected")}, {"key", Json(key_of_pod(request))}});
}

}  // namespace berth
