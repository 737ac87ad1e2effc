// Requests of clients: one JSON object in, one out, to the client's own topic and nowhere else.
#include "core/gateway/gateway.h"
#include "core/objects/accepting.h"

namespace berth {

namespace {

constexpr std::size_t kPageBytes = 48 * 1024;
constexpr std::size_t kObjectBytes = 56 * 1024;
constexpr std::size_t kEventBytes = 6 * 1024;  // of describe, newest kept; an answer is at most 64 KiB

Json failure(const std::string& error) { return Json(Json::Object{{"ok", Json(false)}, {"error", Json(error)}}); }
Json success() { return Json(Json::Object{{"ok", Json(true)}}); }

std::string text_of(const Json& request, std::string_view key) {
  const Json* value = request.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

// An object that would not fit into the answer beside its events: what can be read elsewhere is left out, and named.
Json fit(Json object) {
  Json omitted = Json::array();
  const auto leave_out = [&](std::string_view part, std::string_view key) {
    Json* inside = object.find(part);
    if (object.dump().size() <= kObjectBytes || inside == nullptr || inside->find(key) == nullptr) return;
    inside->erase(key);
    omitted.push_back(std::string(part) + "." + std::string(key));
  };
  leave_out("status", "containerStatuses");
  leave_out("metadata", "annotations");
  leave_out("spec", "containers");
  leave_out("spec", "initContainers");
  if (object.dump().size() > kObjectBytes) {
    object.erase("spec");
    omitted.push_back("spec");
  }
  if (!omitted.as_array().empty()) object.set("omitted", std::move(omitted));
  return object;
}

// The kind named in a request, by any of its names.
const KindName* kind_of(const Json& request) { return find_kind(text_of(request, "kind")); }

std::string key_of_request(const KindName& kind, const Json& request) {
  std::string name = text_of(request, "name");
  if (!kind.namespaced || name.empty()) return name;
  const std::string name_space = text_of(request, "namespace");
  return (name_space.empty() ? "default" : name_space) + "/" + name;
}

}  // namespace

void Gateway::on_api(const Message& message) {
  // The only place a response topic may name is the client's own (core/handshake/rules.md, Topics).
  const std::vector<std::string_view> levels = topics_.split(message.response_topic);
  const bool own = levels.size() >= 2 && levels[0] == "clients" && is_valid_name(levels[1]) &&
                   message.response_topic.find_first_of("+#") == std::string::npos;
  if (!own) return refuse(message.topic, "response topic \"" + message.response_topic + "\" is not under clients/");
  Result<Json> request = Json::parse(message.payload);
  Json reply = request ? answer_api(*request) : failure(request.error().message());
  if (request) {
    if (const Json* id = request->find("id")) reply.set("id", *id);
  }
  Message answer;
  answer.topic = message.response_topic;
  answer.correlation = message.correlation;
  answer.payload = reply.dump();
  turn_.send(std::move(answer));  // after the commit: "accepted" means on flash (S11)
}

Json Gateway::answer_api(const Json& request) {
  if (!request.is_object()) return failure("a JSON object is wanted");
  const std::string op = text_of(request, "op");
  if (op == "status") return api_status();
  if (!options_.hold.empty()) return failure("the gateway is not ready: " + options_.hold);
  if (op == "apply") return api_apply(request);
  if (op == "delete") return api_delete(request);
  if (op == "forget") return api_retire(request);
  if (op == "get") return api_get(request);
  if (op == "describe") return api_describe(request);
  if (op == "explain") return api_explain(request);
  if (op == "plan") return api_plan(request);
  if (op == "waiting") return api_waiting(request);
  if (op == "allow") return api_allow(request);
  if (op == "reject") return api_reject(request);
  return failure(
      "op: \"" + op +
      "\" is not one of apply, delete, forget, get, describe, explain, plan, waiting, allow, reject, status");
}

Json Gateway::api_apply(const Json& request) {
  const Json* object = request.find("object");
  if (object == nullptr || !object->is_object()) return failure("object: a JSON object is wanted");
  const std::string said = text_of(*object, "kind");
  const KindName* kind = find_kind(said);
  if (kind == nullptr || kind->name != said) return failure("kind: \"" + said + "\" is not a kind Berth knows");
  const Json* recreate = request.find("recreate");
  Result<Accepted> accepted = Status::ok();
  change(kind->kind, key_of(kind->kind, *object),
         [&] { accepted = accept(kind->kind, *object, {}, recreate != nullptr && *recreate == Json(true)); });
  if (!accepted) {
    Json reply = failure(accepted.error().message());
    Json reasons = Json::array();
    for (const std::string& reason : accepted.error().reasons()) reasons.push_back(reason);
    return reply.set("reasons", std::move(reasons));
  }
  Json warnings = Json::array();
  for (const std::string& warning : accepted->warnings) warnings.push_back(warning);
  Json reply = success();
  reply.set("result", accepted->word).set("kind", kind->name).set("key", accepted->key).set("uid", accepted->uid);
  return reply.set("warnings", std::move(warnings));
}

Json Gateway::api_delete(const Json& request) {
  const KindName* kind = kind_of(request);
  if (kind == nullptr) return failure("kind: \"" + text_of(request, "kind") + "\" is not a kind Berth knows");
  const std::string key = key_of_request(*kind, request);
  if (key.empty()) return failure("name: a name is wanted");
  Status removed;
  change(kind->kind, key, [&] { removed = remove_object(kind->kind, key, text_of(request, "uid")); });
  if (!removed.is_success()) return failure(removed.message());
  const bool gone = !objects_.has(kind->kind, key);
  return success().set("result", gone ? "deleted" : "deleting").set("key", key);
}

// Pages of at most kPageBytes; "continue" names where the next begins.
Json Gateway::api_get(const Json& request) {
  const KindName* kind = kind_of(request);
  if (kind == nullptr) return failure("kind: \"" + text_of(request, "kind") + "\" is not a kind Berth knows");
  Json reply = success();
  const std::string wanted = key_of_request(*kind, request);
  if (!wanted.empty()) {
    Json object = view(kind->kind, wanted);
    if (object.is_null()) return failure(std::string(kind->name) + " \"" + wanted + "\" not found");
    return reply.set("object", fit(std::move(object)));
  }
  std::vector<std::string> keys;
  if (kind->kind == Kind::node) {
    for (const auto& [name, device] : nodes_.all()) keys.push_back(name);
  } else {
    keys = objects_.keys(kind->kind);
  }
  const std::string name_space = text_of(request, "namespace");
  const std::string from = text_of(request, "continue");
  Json items = Json::array();
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    if (key < from) continue;
    if (kind->namespaced && !name_space.empty() && !key.starts_with(name_space + "/")) continue;
    Json object = fit(view(kind->kind, key));
    bytes += object.dump().size() + 1;
    if (bytes > kPageBytes && !items.is_null() && !items.as_array().empty()) {
      reply.set("continue", key);
      break;
    }
    items.push_back(std::move(object));
  }
  return reply.set("items", std::move(items));
}

Json Gateway::api_describe(const Json& request) {
  Json reply = api_get(request);
  const Json* object = reply.find("object");
  if (object == nullptr) {
    const Json* ok = reply.find("ok");
    return ok != nullptr && *ok == Json(true) ? failure("name: describe wants one object") : reply;
  }
  const KindName* kind = kind_of(request);
  Json events = Json::array();
  if (kind->kind == Kind::pod) {
    const std::vector<PodEventRecord> known = publisher_.events_of(key_of_request(*kind, request));
    std::size_t bytes = 0;
    auto first = known.end();
    while (first != known.begin()) {
      bytes += std::prev(first)->message.size() + std::prev(first)->reason.size() + 128;
      if (bytes > kEventBytes) break;
      --first;
    }
    for (; first != known.end(); ++first) {
      const PodEventRecord& event = *first;
      Json json = Json::object();
      json.set("type", event.type.get()).set("reason", event.reason.get()).set("message", event.message);
      json.set("time", std::to_string(event.wall)).set("count", event.count);
      events.push_back(std::move(json));
    }
  }
  return reply.set("events", std::move(events));
}

Json Gateway::api_status() {
  const std::string why = not_ready();
  const Queue::Counts counts = queue_.counts();
  Json queue = Json::object();
  queue.set("active", static_cast<std::int64_t>(counts.active))
      .set("backoff", static_cast<std::int64_t>(counts.backoff))
      .set("unschedulable", static_cast<std::int64_t>(counts.unschedulable))
      .set("gated", static_cast<std::int64_t>(counts.gated));
  Json reply = success();
  reply.set("ready", why.empty()).set("reason", why);
  reply.set("full", capacity().message());  // why new objects are refused; empty: they are not
  Json aside = Json::array();
  for (const std::string& path : options_.set_aside) aside.push_back(path);
  reply.set("setAside", std::move(aside));
  reply.set("fleet", options_.fleet).set("gateway", options_.gateway);
  reply.set("term", std::to_string(identity_.id.term)).set("storeId", identity_.id.store_id);
  reply.set("pods", static_cast<std::int64_t>(objects_.pods().size()));
  reply.set("nodes", static_cast<std::int64_t>(nodes_.all().size()));
  reply.set("rows", static_cast<std::int64_t>(bindings_.size()));
  reply.set("releases", static_cast<std::int64_t>(releases_.size()));
  return reply.set("queue", std::move(queue));
}

}  // namespace berth
