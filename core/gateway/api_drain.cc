// cordon and evict: what `berthctl drain` is made of.
#include <utility>

#include "core/gateway/api.h"
#include "core/gateway/api_reply.h"
#include "core/json/members.h"

namespace berth {

// spec.unschedulable of what operators say of the node; all else that they say stays.
Json Api::cordon(const Json& request) {
  const std::string name = api_text(request, "name");
  if (name.empty()) return api_failure("name: missing; name the node");
  const Json* wanted = request.find("unschedulable");
  if (wanted == nullptr || !wanted->is_bool()) return api_failure("unschedulable: expected true or false");
  if (context_.nodes.find(name) == nullptr) return api_failure("Node \"" + name + "\" not found");
  const Json* said = context_.objects.overlay(name);
  Json overlay = said == nullptr ? Json::object() : *said;
  if (said == nullptr) {
    overlay.set("apiVersion", "v1").set("kind", "Node").set("metadata", Json(Json::Object{{"name", Json(name)}}));
  }
  const bool cordons = wanted->as_bool();
  const Json& now = member(member(overlay, "spec"), "unschedulable");
  const bool is_cordoned = now.is_bool() && now.as_bool();
  const std::string word = cordons ? "cordoned" : "uncordoned";
  if (cordons == is_cordoned) return api_success().set("result", "already " + word).set("key", name);
  if (!member(overlay, "spec").is_object()) overlay.set("spec", Json::object());
  Json& spec = *overlay.find("spec");
  if (cordons) {
    spec.set("unschedulable", true);
  } else {
    spec.erase("unschedulable");
  }
  Result<Accepted> accepted = Status::ok();
  context_.mirror.apply_unretained(Kind::node, name,
                                   [&] { accepted = orders_.apply(Kind::node, overlay, name, false); });
  if (!accepted) return api_failure(accepted.error().message());
  return api_success().set("result", word).set("key", name);
}

// Deletes the pod unless that would violate its budget: then the result is "blocked", with the reason. The same request
// may come twice if it has the pod's uid.
Json Api::evict(const Json& request) {
  const std::string key = api_pod_key(request);
  const PodEntry* entry = context_.objects.pods().find(key);
  const std::string uid = api_text(request, "uid");
  if (entry == nullptr || (!uid.empty() && entry->pod->uid() != uid)) {
    return api_failure("Pod \"" + key + "\" not found");
  }
  const std::size_t slash = key.find('/');
  const Result<EvictionAnswer> answer = workloads_.evict({key.substr(0, slash), key.substr(slash + 1)});
  if (!answer) return api_failure(answer.error().message());
  constexpr int kCreated = 201, kTooManyRequests = 429;
  if (answer->code == kCreated) return api_success().set("result", "evicted").set("key", key);
  std::string why = answer->message;
  for (const std::string& cause : answer->causes) why += " " + cause;
  if (answer->code != kTooManyRequests) return api_failure(why);
  return api_success().set("result", "blocked").set("key", key).set("message", why);
}

}  // namespace berth
