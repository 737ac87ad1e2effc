#include "core/gateway/api.h"

#include <functional>

#include "core/api/config_objects.h"
#include "core/api/names.h"
#include "core/gateway/api_reply.h"
#include "core/json/utf8.h"
#include "core/objects/accepting.h"
#include "core/objects/look_ups.h"

namespace berth {

namespace {

const std::string kOrphan = "~";  // before the key of an orphan in a listing of pods: behind all names
constexpr std::size_t kObjectBytes = 56 * 1024;
constexpr std::size_t kMaxWaitedFor = 100;  // nodes that adopt mode waits for, in a status

// An object that would not fit into the answer beside its events: what can be read elsewhere is left out, and named.
Json fit(Json object) {
  Json omitted = Json::array();
  const auto leave_out = [&](std::string_view part, std::string_view key) {
    Json* inside = object.find(part);
    if (object.dump().size() <= kObjectBytes || inside == nullptr || inside->find(key) == nullptr) return;
    inside->erase(key);
    omitted.push_back(std::string(part) + "." + std::string(key));
  };
  leave_out("status", "initContainerStatuses");
  leave_out("status", "containerStatuses");
  leave_out("metadata", "annotations");
  leave_out("spec", "containers");
  leave_out("spec", "initContainers");
  for (const std::string_view part : {"spec", "binaryData", "data"}) {
    if (object.dump().size() <= kObjectBytes || object.find(part) == nullptr) continue;
    object.erase(part);
    omitted.push_back(part);
  }
  if (!omitted.as_array().empty()) object.set("omitted", std::move(omitted));
  return object;
}

// The kind named in a request, by any of its names.
const KindName* kind_of(const Json& request) { return find_kind(api_text(request, "kind")); }

// What becomes of what the object owns (meta/v1 DeletionPropagation).
Result<Propagation> propagation_of(const Json& request) {
  const std::string said = api_text(request, "propagation");
  if (said.empty() || said == "Background") return Propagation::background;
  if (said == "Foreground") return Propagation::foreground;
  if (said == "Orphan") return Propagation::orphan;
  return Status::error("propagation: \"" + said + "\" is not one of Background, Foreground, Orphan");
}

std::string key_of_request(const KindName& kind, const Json& request) {
  std::string name = api_text(request, "name");
  if (!kind.namespaced || name.empty()) return name;
  const std::string name_space = api_text(request, "namespace");
  return (name_space.empty() ? "default" : name_space) + "/" + name;
}

}  // namespace

void Api::take(const Message& message) {
  Result<Message> answered = api_answer(context_.topics, message,
                                        [&](const Json& request) { return answer(request, message.response_topic); });
  if (!answered) return log_refused(context_.log, message.topic, answered.error().message());
  context_.turn.send(std::move(*answered));  // after the commit: "accepted" means on flash (S11)
}

Json Api::answer(const Json& request, const std::string& client) {
  if (!request.is_object()) return api_failure("expected a JSON object");
  const std::string op = api_text(request, "op");
  if (op == "status") return status();
  if (!context_.options.hold.empty()) return api_failure("the gateway is not ready: " + context_.options.hold);
  if (op == "apply") return apply(request, client);
  if (op == "delete") return remove(request);
  if (op == "forget") return retire(request);
  if (op == "adopt") return adopt(request);
  if (op == "cordon") return cordon(request);
  if (op == "evict") return evict(request);
  if (op == "get") return get(request);
  if (op == "describe") return describe_object(request);
  if (op == "events") return events(request);
  if (op == "explain") return explain(request);
  if (op == "plan") return plan(request);
  if (op == "waiting") return waiting(request);
  if (op == "allow") return allow(request);
  if (op == "reject") return reject(request);
  return api_failure("op: \"" + op +
                     "\" is not one of apply, delete, forget, adopt, cordon, evict, get, describe, events, explain, "
                     "plan, waiting, allow, reject, status");
}

Json Api::apply(const Json& request, const std::string& client) {
  if (const Json* upload = request.find("upload")) {
    return uploads_.take(*upload, client, context_.clock.now(), [&](const std::string& text) {
      const Result<Json> object = Json::parse(text, {.bytes = kConfigTextMax, .depth = 64});
      if (!object) return api_failure("upload: " + object.error().message());
      const KindName* kind = find_kind(api_text(*object, "kind"));
      const bool may_be_large = kind != nullptr && is_config(kind->kind);
      return may_be_large ? apply_object(request, *object) : api_failure("upload: expected a ConfigMap or Secret");
    });
  }
  const Json* object = request.find("object");
  if (object == nullptr || !object->is_object()) return api_failure("object: expected a JSON object");
  return apply_object(request, *object);
}

Json Api::apply_object(const Json& request, const Json& manifest) {
  const Json* object = &manifest;
  const std::string said = api_text(*object, "kind");
  const KindName* kind = find_kind(said);
  if (kind == nullptr || kind->name != said)
    return api_failure("kind: \"" + said + "\" is not a kind that Berth supports");
  const Json* recreate = request.find("recreate");
  const Json* create = request.find("create");
  const std::string key = key_of(kind->kind, *object);
  if (create != nullptr && *create == Json(true) && context_.objects.has(kind->kind, key)) {
    return api_failure(std::string(kind->name) + " \"" + key + "\" already exists");
  }
  const Json* dry_run = request.find("dryRun");
  if (dry_run != nullptr && *dry_run == Json(true)) return dry_run_of(*kind, *object);
  Result<Accepted> accepted = Status::ok();
  context_.mirror.apply_unretained(kind->kind, key, [&] {
    accepted = orders_.apply(kind->kind, *object, {}, recreate != nullptr && *recreate == Json(true));
  });
  return reply_of(*kind, accepted);
}

Json Api::reply_of(const KindName& kind, const Result<Accepted>& accepted) {
  if (!accepted) {
    Json reply = api_failure(accepted.error().message());
    Json reasons = Json::array();
    for (const std::string& reason : accepted.error().reasons()) reasons.push_back(reason);
    return reply.set("reasons", std::move(reasons));
  }
  Json warnings = Json::array();
  for (const std::string& warning : accepted->warnings) warnings.push_back(warning);
  Json reply = api_success();
  reply.set("result", accepted->result).set("kind", kind.name).set("key", accepted->key).set("uid", accepted->uid);
  return reply.set("warnings", std::move(warnings));
}

// As plan() of a pod: where it would fit nowhere, that is a warning.
Json Api::dry_run_of(const KindName& kind, const Json& object) {
  if (kind.kind != Kind::pod) return reply_of(kind, orders_.check(kind.kind, object));
  Result<PodAdmission::Admitted> admitted = admit_on_trial(object);
  if (!admitted) return reply_of(kind, admitted.error());
  const Pod& pod = *admitted->pod;
  const PodEntry* known = context_.objects.pods().find(pod.metadata.key());
  Accepted accepted{"created", pod.metadata.key(), {}, admitted->warnings};
  // One that its device has been told to run has to end first.
  const Binding* binding = known == nullptr ? nullptr : placement_.state().find(known->pod->uid());
  if (binding != nullptr && binding->row.phase > Phase::prebind) accepted.result = "waiting";
  if (admitted->known) accepted.result = pod.manifest() == known->pod->manifest() ? "unchanged" : "updated";
  if (accepted.result == "unchanged") return reply_of(kind, accepted);
  const std::string why = plan_of(*admitted, Json::object()).find("trial")->string_at("message");
  if (!why.empty()) accepted.warnings.push_back("it would wait: " + why);
  return reply_of(kind, accepted);
}

Json Api::remove(const Json& request) {
  const KindName* kind = kind_of(request);
  if (kind == nullptr)
    return api_failure("kind: \"" + api_text(request, "kind") + "\" is not a kind that Berth supports");
  const std::string key = key_of_request(*kind, request);
  if (key.empty()) return api_failure("name: missing; name the object");
  // A node is what its device says, and says again.
  const DeviceNode* device = kind->kind == Kind::node ? context_.nodes.find(key) : nullptr;
  const std::string instead =
      device == nullptr ? std::string()
                        : std::string(device->reachable ? "its device is connected" : "its device may come back") +
                              ": to take it away for good, stop berth-agent there (berthctl revoke " + key +
                              " on the gateway ends its access), then berthctl forget node " + key +
                              "; to place nothing more on it, berthctl cordon " + key;
  if (!instead.empty() && !context_.objects.has(kind->kind, key)) {
    return api_failure("Node \"" + key + "\" cannot be deleted: " + instead);
  }
  const Result<Propagation> propagation = propagation_of(request);
  if (!propagation) return api_failure(propagation.error().message());
  Status removed;
  context_.mirror.apply_unretained(
      kind->kind, key, [&] { removed = orders_.remove(kind->kind, key, api_text(request, "uid"), *propagation); });
  if (!removed.is_success()) return api_failure(removed.message());
  const bool gone = !context_.objects.has(kind->kind, key);
  Json reply = api_success().set("result", gone ? "deleted" : "deleting").set("key", key);
  if (instead.empty()) return reply;
  return reply.set("warnings", Json(Json::Array{Json("only what was applied for the node is deleted, " + instead)}));
}

// The values of a Secret are shown to who asks for them.
Json Api::shown(Kind kind, const std::string& key, const Json& request) const {
  Json object = view_.view(kind, key);
  const Json* values = request.find("values");
  const bool asks = values != nullptr && values->is_bool() && values->as_bool();
  return kind == Kind::secret && !asks ? with_sizes_only(kind, std::move(object)) : object;
}

// A piece of the object's text. `whole` is another one when the object has changed in between.
Json Api::get_part(Json object, const Json& part) const {
  const std::string text = object.dump();
  const std::vector<std::string_view> pieces = pieces_of(text, kTextPieceBytes);
  if (!part.is_integer() || part.as_int() < 0 || part.as_int() >= static_cast<std::int64_t>(pieces.size())) {
    return api_failure("part: expected a number below " + std::to_string(pieces.size()));
  }
  Json reply = api_success();
  reply.set("text", pieces[static_cast<std::size_t>(part.as_int())]);
  reply.set("parts", static_cast<std::int64_t>(pieces.size()));
  return reply.set("whole", std::to_string(std::hash<std::string>{}(text)));
}

// Pages of at most kApiPageBytes; "continue" names where the next begins.
Json Api::get(const Json& request) const {
  const KindName* kind = kind_of(request);
  if (kind == nullptr)
    return api_failure("kind: \"" + api_text(request, "kind") + "\" is not a kind that Berth supports");
  Json reply = api_success();
  const std::string key = key_of_request(*kind, request);
  if (!key.empty()) {
    Json object = shown(kind->kind, key, request);
    const Json* part = request.find("part");
    if (part != nullptr && is_config(kind->kind) && !object.is_null()) return get_part(std::move(object), *part);
    if (object.is_null() && kind->kind == Kind::pod) {
      const std::vector<std::string> orphans = placement_.releases().orphans_named(key);
      if (!orphans.empty()) object = view_.orphan_view(orphans.front());
    }
    if (object.is_null() && kind->kind == Kind::persistent_volume) {
      const std::vector<OrphanVolumes::Orphan> orphans = placement_.orphan_volumes().named(key);
      if (!orphans.empty()) object = view_.orphan_view(orphans.front());
    }
    if (object.is_null()) return api_failure(std::string(kind->name) + " \"" + key + "\" not found");
    return reply.set("object", fit(std::move(object)));
  }
  std::vector<std::string> keys;
  if (kind->kind == Kind::node) {
    for (const auto& [name, device] : context_.nodes.all()) keys.push_back(name);
  } else {
    keys = context_.objects.keys(kind->kind);
  }
  if (kind->kind == Kind::pod) {
    for (const std::string& orphan : context_.identity->orphans) keys.push_back(kOrphan + orphan);
  }
  std::map<std::string, OrphanVolumes::Orphan> orphan_volumes;
  if (kind->kind == Kind::persistent_volume) {
    for (const OrphanVolumes::Orphan& orphan : placement_.orphan_volumes().all()) {
      keys.push_back(kOrphan + orphan.node + "/" + orphan.volume.volume);
      orphan_volumes.emplace(keys.back(), orphan);
    }
  }
  const std::string name_space = api_text(request, "namespace");
  const std::string from = api_text(request, "continue");
  Json items = Json::array();
  std::size_t bytes = 0;
  for (const std::string& each : keys) {
    if (each < from) continue;
    const bool is_orphan = each.starts_with(kOrphan);
    if (kind->namespaced && !is_orphan && !name_space.empty() && !each.starts_with(name_space + "/")) continue;
    const auto volume = orphan_volumes.find(each);
    Json object = volume != orphan_volumes.end() ? view_.orphan_view(volume->second)
                  : is_orphan                    ? view_.orphan_view(each.substr(kOrphan.size()))
                                                 : fit(shown(kind->kind, each, request));
    if (kind->namespaced && is_orphan && !name_space.empty() &&
        *object.find("metadata")->find("namespace") != Json(name_space))
      continue;
    bytes += object.dump().size() + 1;
    if (bytes > kApiPageBytes && !items.is_null() && !items.as_array().empty()) {
      reply.set("continue", each);
      break;
    }
    items.push_back(std::move(object));
  }
  return reply.set("items", std::move(items));
}

Json Api::describe_object(const Json& request) const {
  Json reply = get(request);
  const Json* object = reply.find("object");
  if (object == nullptr) {
    const Json* ok = reply.find("ok");
    return ok != nullptr && *ok == Json(true) ? api_failure("name: missing; describe shows one object") : reply;
  }
  const KindName* kind = kind_of(request);
  return reply.set("events", events_of(kind->kind, key_of_request(*kind, request)));
}

Json Api::status() const {
  const std::string why = readiness_of(context_).reason();
  const Queue::Counts counts = placement_.scheduler().queue().counts();
  Json queue = Json::object();
  queue.set("active", static_cast<std::int64_t>(counts.active))
      .set("backoff", static_cast<std::int64_t>(counts.backoff))
      .set("unschedulable", static_cast<std::int64_t>(counts.unschedulable))
      .set("gated", static_cast<std::int64_t>(counts.gated));
  Json reply = api_success();
  reply.set("ready", why.empty()).set("reason", why);
  if (context_.identity->adopting) {
    Json nodes = Json::array();
    for (const std::string& node : context_.identity->adopt_nodes) {
      if (nodes.as_array().size() < kMaxWaitedFor) nodes.push_back(node);
    }
    reply.set("waitingFor", std::move(nodes)).set("waitingForOperator", context_.identity->awaits_operator);
  }
  reply.set("lockedSecrets", locked_secrets(context_.objects));  // empty: all can be read
  reply.set("full", context_.admission.capacity().message());    // why new objects are refused; empty: they are not
  Json aside = Json::array();
  for (const std::string& path : context_.options.set_aside) aside.push_back(path);
  reply.set("setAside", std::move(aside));
  reply.set("fleet", context_.options.fleet).set("gateway", context_.options.gateway);
  reply.set("term", std::to_string(context_.identity->id.term)).set("storeId", context_.identity->id.store_id);
  reply.set("pods", static_cast<std::int64_t>(context_.objects.pods().all().size()));
  reply.set("nodes", static_cast<std::int64_t>(context_.nodes.all().size()));
  reply.set("rows", static_cast<std::int64_t>(placement_.state().bindings.size()));
  reply.set("releases", static_cast<std::int64_t>(placement_.state().releases.size()));
  return reply.set("queue", std::move(queue));
}

Json Api::retire(const Json& request) {
  const KindName* kind = kind_of(request);
  if (kind == nullptr || kind->kind != Kind::node) return api_failure("kind: only a Node can be forgotten");
  const std::string node = api_text(request, "name");
  if (!is_valid_name(node)) return api_failure("name: expected the name of a node");
  const DeviceNode* device = context_.nodes.find(node);
  const bool heard = device != nullptr && device->reachable;
  if (Status retired = placement_.retirement().retire(node); !retired.is_success()) {
    return api_failure(retired.message());
  }
  Json warnings = Json::array();
  if (heard) {
    warnings.push_back(
        "it was reachable a moment ago: until it has been told to stop its pods, pods that are placed again "
        "may run there as well");
  }
  Json reply(Json::Object{{"ok", Json(true)}, {"result", Json("forgotten")}, {"key", Json(node)}});
  return reply.set("warnings", std::move(warnings));
}

}  // namespace berth
