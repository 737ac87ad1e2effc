// Pods that wait on Permit: shown to operators, allowed and rejected by them.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/gateway/api.h"
#include "core/gateway/api_reply.h"

namespace berth {

namespace {

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

// Pages as those of get.
Json Api::waiting(const Json& request) const {
  const std::string name_space = api_text(request, "namespace");
  const std::string from = api_text(request, "continue");
  std::map<std::string, const WaitingPod*> by_key;
  for (const auto& [uid, waiting] : placement_.scheduler().waiting_pods().all())
    by_key[waiting.pod->metadata.key()] = &waiting;
  Json reply(Json::Object{{"ok", Json(true)}});
  Json items = Json::array();
  std::size_t bytes = 0;
  for (const auto& [key, waiting] : by_key) {
    if (key < from || (!name_space.empty() && waiting->pod->metadata.namespace_ != name_space)) continue;
    Json plugins = Json::array();
    for (const auto& [plugin, wait] : waiting->plugins) {
      Json each = Json::object();
      each.set("name", plugin).set("remainingMs", std::max<Millis>(wait.deadline - context_.clock.now(), 0));
      plugins.push_back(std::move(each));
    }
    Json item = Json::object();
    item.set("namespace", waiting->pod->metadata.namespace_.get()).set("name", waiting->pod->metadata.name);
    item.set("uid", waiting->pod->uid().get()).set("node", waiting->node).set("plugins", std::move(plugins));
    bytes += item.dump().size() + 1;
    if (bytes > kApiPageBytes && !items.as_array().empty()) {
      reply.set("continue", key);
      break;
    }
    items.push_back(std::move(item));
  }
  return reply.set("items", std::move(items));
}

// Null when the pod does not wait, or not for the plugin that the request names: `why` says so.
const WaitingPod* Api::waiting_of(const Json& request, std::string& why) const {
  if (api_text(request, "name").empty()) {
    why = "name: expected the name of a pod";
    return nullptr;
  }
  const std::string key = api_pod_key(request);
  const PodEntry* entry = context_.objects.pods().find(key);
  const WaitingPod* waiting =
      entry == nullptr ? nullptr : placement_.scheduler().waiting_pods().find(entry->pod->uid());
  if (waiting == nullptr) {
    why = "Pod \"" + key + "\" " + (entry == nullptr ? "not found" : "does not wait on permit");
    return nullptr;
  }
  const std::string plugin = api_text(request, "plugin");
  if (plugin.empty() || waiting->plugins.contains(plugin)) return waiting;
  why = "plugin: Pod \"" + key + "\" does not wait for \"" + plugin + "\"; it waits for " + join(names_of(*waiting));
  return nullptr;
}

// Without a plugin: for all that hold it back.
Json Api::allow(const Json& request) {
  std::string why;
  const WaitingPod* waiting = waiting_of(request, why);
  if (waiting == nullptr) return api_failure(why);
  const std::string uid = waiting->pod->uid();
  std::vector<std::string> plugins = names_of(*waiting);
  if (const std::string plugin = api_text(request, "plugin"); !plugin.empty()) plugins = {plugin};
  for (const std::string& plugin : plugins) placement_.scheduler().waiting_pods().allow(uid, plugin);
  const WaitingPod* still = placement_.scheduler().waiting_pods().find(uid);
  const std::string result = still == nullptr ? "allowed" : "still waits for " + join(names_of(*still));
  context_.publisher.mark(Kind::pod, api_pod_key(request));
  placement_.lifecycle().deliver_permits();
  return Json(Json::Object{{"ok", Json(true)}, {"result", Json(result)}, {"key", Json(api_pod_key(request))}});
}

// The pod goes back to the queue as rejected by the plugin, or by the first that holds it back: what that plugin
// registered for wakes it.
Json Api::reject(const Json& request) {
  std::string why;
  const WaitingPod* waiting = waiting_of(request, why);
  if (waiting == nullptr) return api_failure(why);
  std::string plugin = api_text(request, "plugin");
  if (plugin.empty()) plugin = waiting->plugins.begin()->first;
  const std::string reason = api_text(request, "reason");
  placement_.scheduler().waiting_pods().reject(waiting->pod->uid(), plugin,
                                               reason.empty() ? "rejected by an operator" : reason);
  placement_.lifecycle().deliver_permits();
  return Json(Json::Object{{"ok", Json(true)}, {"result", Json("rejected")}, {"key", Json(api_pod_key(request))}});
}

}  // namespace berth
