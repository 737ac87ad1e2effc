#include "core/gateway/desired_inbox.h"

#include "core/objects/accepting.h"

namespace berth {

namespace {

// A broker may come back with thousands.
constexpr std::size_t kToldPastMax = 10;

bool is_delete(const Json& order) {
  const Json* deleted = order.find("deleted");
  return deleted != nullptr && *deleted == Json(true);
}

}  // namespace

void DesiredInbox::take(const std::vector<std::string_view>& levels, const Message& message) {
  const KindName* kind = find_kind(levels[1]);
  if (kind == nullptr || kind->plural != levels[1]) return log_refused(context_.log, message.topic, "unknown kind");
  if (levels.size() != (kind->namespaced ? 4u : 3u)) {
    return log_refused(
        context_.log, message.topic,
        kind->namespaced ? "expected desired/<kind>/<namespace>/<name>" : "expected desired/<kind>/<name>");
  }
  const std::string key =
      kind->namespaced ? std::string(levels[2]) + "/" + std::string(levels[3]) : std::string(levels[2]);
  if (kind->kind == Kind::secret) return refuse_secret(key, message);
  // What the gateway said itself is no order. On its way back it may be older than what was accepted or deleted since,
  // and taken for an order it would undo that, be mirrored, come back, and so on without end.
  if (RetainedPublisher::is_mirror(message) && !message.retain) return;
  if (context_.publisher.is_own_mirror(message)) {
    // Retained since an earlier session: only the newest mirror may have been lost.
    context_.mirror.note_seen(kind->kind, key);
    context_.mirror.superseded().note_none({kind->kind, key});
    if (context_.objects.text(kind->kind, key) != message.payload) context_.mirror.publish(kind->kind, key);
    return;
  }
  // Another store's: of use where it was retained before this session, and no later.
  if (RetainedPublisher::is_mirror(message) && !context_.mirror.may_be_old()) return;
  if (RetainedPublisher::is_mirror(message)) context_.mirror.note_other_store();
  if (message.payload.empty()) {
    if (message.retain) context_.mirror.superseded().note_none({kind->kind, key});
    // Absence never deletes: the mirror is restored.
    if (context_.objects.has(kind->kind, key)) context_.mirror.publish(kind->kind, key);
    return;
  }
  Result<Json> json = Json::parse(message.payload);
  if (!json) return log_refused(context_.log, message.topic, json.error().message());
  if (message.retain) return take_retained(kind->kind, key, *json, message);
  context_.mirror.note_seen(kind->kind, key);
  context_.mirror.apply_unretained(kind->kind, key, [&] { carry_out(kind->kind, key, *json, json->dump(), message); });
}

// A broker keeps what it retains on its disk, and gives it to every operator.
void DesiredInbox::refuse_secret(const std::string& key, const Message& message) {
  if (message.payload.empty()) return;
  context_.mirror.publish(Kind::secret, key);  // clears the topic
  log_refused(context_.log, message.topic,
              "a Secret is taken by the api only (berthctl apply), and what is retained here is cleared");
}

// The broker retains it: said just now, or before this session.
void DesiredInbox::take_retained(Kind kind, const std::string& key, const Json& json, const Message& message) {
  const bool may_be_old = context_.mirror.may_be_old();
  const std::string uid = kind == Kind::pod ? uid_of(json) : std::string();
  if (may_be_old && !uid.empty() && context_.identity->withdrawn.contains(uid))
    return context_.mirror.clear_withdrawn(key, uid);
  context_.mirror.note_seen(kind, key);
  const SupersededOrders::Named named{kind, key};
  const std::string text = json.dump();
  if (may_be_old && context_.mirror.superseded().is_superseded(named, text, is_delete(json)))
    return context_.mirror.publish(kind, key);
  if (context_.mirror.is_past(kind, key, json)) {
    tell_past(kind, key);
    return context_.mirror.publish(kind, key);
  }
  if (!may_be_old) context_.mirror.past().forget(kind, key, json);
  if (kind != Kind::pod) {
    context_.mirror.superseded().note_retained(named, text, is_delete(json));
    return carry_out(kind, key, json, text, message);
  }
  // When the pod is exactly as ordered, its entry records that: there may be tens of thousands.
  const auto is_as_ordered = [&](const PodEntry* entry) {
    return entry != nullptr && entry->pod->manifest().text() == text;
  };
  if (PodEntry* entry = context_.objects.pods().find(key); !is_as_ordered(entry)) {
    if (entry != nullptr) entry->order_session = 0;
    context_.mirror.superseded().note_retained(named, text, is_delete(json));
  }
  carry_out(kind, key, json, text, message);
  const PodEntry* entry = context_.objects.pods().find(key);
  if (is_as_ordered(entry) && entry->order_session == context_.mirror.barrier().session())
    context_.mirror.superseded().note_none(named);
}

// P16: the operator may have meant it, and wonders why nothing happens.
void DesiredInbox::tell_past(Kind kind, const std::string& key) {
  if (told_past_ >= kToldPastMax) return;
  const bool is_last = ++told_past_ == kToldPastMax;
  const std::string why =
      "what the broker retains was replaced or deleted since, and is ignored; if it is meant, apply it again now, or "
      "with another annotation";
  context_.log.write(Level::warn,
                     is_last ? "retained order ignored; further ones are not logged" : "retained order ignored",
                     {{"kind", std::string(describe(kind).name)}, {"name", key}, {"reason", why}});
  if (kind == Kind::pod) context_.events.record({Kind::pod, key, "Warning", "OrderIgnored", why, {}});
}

// `text`: the same as `json`, compact.
void DesiredInbox::carry_out(Kind kind, const std::string& key, const Json& json, const std::string& text,
                             const Message& message) {
  if (is_delete(json)) return carry_out_delete(kind, key, json, message.retain);
  const std::optional<std::string> known = context_.objects.text(kind, key);
  if (known == text) {
    if (kind == Kind::pod && message.retain)
      context_.objects.pods().find(key)->order_session = context_.mirror.barrier().session();
    return;
  }
  if (message.retain && !RetainedPublisher::is_mirror(message)) context_.mirror.set_order_in_hand(text);
  Result<Accepted> accepted = orders_.apply(kind, json, key, false);
  context_.mirror.set_order_in_hand(std::nullopt);
  if (!accepted) {
    log_refused(context_.log, message.topic, accepted.error().message());
    if (accepted.error().code() == Code::unschedulable) {
      refused_ = true;  // read again when there is capacity: until then it stays retained
      if (message.retain) context_.publisher.forget_mirror(kind, key);
    } else if (known && message.retain) {
      context_.mirror.past().remember(kind, key, json);
      context_.mirror.publish(kind, key);  // the gateway's object holds; desired/ shows it again
    }
    return;
  }
  if (message.retain && (kind != Kind::pod || context_.objects.text(kind, key) != text)) {
    context_.mirror.past().remember(kind, key, json);  // the mirror replaces it
  }
  // The order has less than is known (which claim is bound to which volume): desired/ shows the gateway's object again.
  if (accepted->result == "unchanged") context_.mirror.publish(kind, key);
  for (const std::string& warning : accepted->warnings) {
    context_.log.write(Level::warn, "accepted with a warning", {{"topic", message.topic}, {"warning", warning}});
  }
}

void DesiredInbox::carry_out_delete(Kind kind, const std::string& key, const Json& json, bool retained) {
  PodEntry* entry = kind == Kind::pod && retained ? context_.objects.pods().find(key) : nullptr;
  if (entry != nullptr) entry->order_session = 0;
  if (retained) context_.publisher.forget_mirror(kind, key);  // the order stays until it is carried out
  if (retained) context_.mirror.past().remember(kind, key, json);
  const Json* uid = json.find("uid");
  const Status removed = orders_.remove(kind, key, uid != nullptr && uid->is_string() ? uid->as_string() : "");
  if (!removed.is_success() || !context_.objects.has(kind, key)) context_.mirror.publish(kind, key);
}

}  // namespace berth
