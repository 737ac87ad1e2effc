// desired/: what operators say, what the broker retains of it, and the gateway's own word coming back (who owns
// the truth: core/handshake/rules.md).
#include "core/gateway/gateway.h"
#include "core/objects/accepting.h"

namespace berth {

namespace {

bool is_delete(const Json& order) {
  const Json* deleted = order.find("deleted");
  return deleted != nullptr && *deleted == Json(true);
}

}  // namespace

void Gateway::on_desired(const std::vector<std::string_view>& levels, const Message& message) {
  const KindName* kind = find_kind(levels[1]);
  if (kind == nullptr || kind->plural != levels[1]) return refuse(message.topic, "unknown kind");
  if (levels.size() != (kind->namespaced ? 4u : 3u)) {
    return refuse(message.topic,
                  kind->namespaced ? "desired/<kind>/<namespace>/<name> is wanted" : "desired/<kind>/<name> is wanted");
  }
  const std::string key =
      kind->namespaced ? std::string(levels[2]) + "/" + std::string(levels[3]) : std::string(levels[2]);
  // What the gateway said itself is no order. On its way back it may be older than what was accepted or deleted since,
  // and taken for an order it would undo that, be mirrored, come back, and so on without end.
  if (RetainedPublisher::is_mirror(message) && !message.retain) return;
  if (publisher_.is_own_mirror(message)) {
    // Retained since an earlier session: the one word that may have been lost is the last.
    note_seen(kind->kind, key);
    superseded_.note_none({kind->kind, key});
    if (objects_.text(kind->kind, key) != message.payload) mirror(kind->kind, key);
    return;
  }
  // Another store's: of use where it was retained before this session, and no later.
  if (RetainedPublisher::is_mirror(message) && synced_ && !reading_again_) return;
  if (message.payload.empty()) {
    if (message.retain) superseded_.note_none({kind->kind, key});
    // Absence never deletes: the mirror is restored.
    if (objects_.has(kind->kind, key)) mirror(kind->kind, key);
    return;
  }
  Result<Json> json = Json::parse(message.payload);
  if (!json) return refuse(message.topic, json.error().message());
  if (message.retain) return read_order(kind->kind, key, *json, message);
  note_seen(kind->kind, key);
  change(kind->kind, key, [&] { take_order(kind->kind, key, *json, json->dump(), message); });
}

// The broker retains it: said just now, or before this session.
void Gateway::read_order(Kind kind, const std::string& key, const Json& json, const Message& message) {
  const bool may_be_old = !synced_ || reading_again_;
  const std::string uid = kind == Kind::pod ? uid_of(json) : std::string();
  if (may_be_old && !uid.empty() && identity_.withdrawn.contains(uid)) return clear_withdrawn(key, uid);
  note_seen(kind, key);
  const SupersededOrders::Named named{kind, key};
  const std::string text = json.dump();
  if (may_be_old && superseded_.is_superseded(named, text, is_delete(json))) return mirror(kind, key);
  if (kind != Kind::pod) {
    superseded_.note_retained(named, text, is_delete(json));
    return take_order(kind, key, json, text, message);
  }
  // Of a pod that is as its word says the entry tells that it is retained: there may be tens of thousands.
  const auto is_as_said = [&](const PodEntry* entry) {
    return entry != nullptr && entry->pod->manifest().text() == text;
  };
  if (PodEntry* entry = objects_.find_pod(key); !is_as_said(entry)) {
    if (entry != nullptr) entry->left_in = 0;
    superseded_.note_retained(named, text, is_delete(json));
  }
  take_order(kind, key, json, text, message);
  const PodEntry* entry = objects_.find_pod(key);
  if (is_as_said(entry) && entry->left_in == session_) superseded_.note_none(named);
}

// `text`: the same as `json`, compact.
void Gateway::take_order(Kind kind, const std::string& key, const Json& json, const std::string& text,
                         const Message& message) {
  if (is_delete(json)) {
    PodEntry* entry = kind == Kind::pod && message.retain ? objects_.find_pod(key) : nullptr;
    if (entry != nullptr) entry->left_in = 0;
    if (message.retain) publisher_.forget_mirror(kind, key);  // the order stands until it is carried out
    const Json* uid = json.find("uid");
    const Status removed = remove_object(kind, key, uid != nullptr && uid->is_string() ? uid->as_string() : "");
    if (!removed.is_success() || !objects_.has(kind, key)) mirror(kind, key);
    return;
  }
  const std::optional<std::string> known = objects_.text(kind, key);
  if (known == text) {
    if (kind == Kind::pod && message.retain) objects_.find_pod(key)->left_in = session_;
    return;
  }
  if (message.retain && !RetainedPublisher::is_mirror(message)) inbox_ = text;
  Result<Accepted> accepted = accept(kind, json, key, false);
  inbox_.reset();
  if (!accepted) {
    refuse(message.topic, accepted.error().message());
    if (accepted.error().code() == Code::unschedulable) {
      turned_away_ = true;  // read again when there is room: until then it stays where it is
      if (message.retain) publisher_.forget_mirror(kind, key);
    } else if (known && message.retain) {
      mirror(kind, key);  // the owner's word stands; the inbox shows it again
    }
    return;
  }
  // The inbox says less than is known (who is bound to whom): it shows the owner's word again.
  if (accepted->word == "unchanged") mirror(kind, key);
  for (const std::string& warning : accepted->warnings) {
    log_.write(Level::warn, "accepted with a warning", {{"topic", message.topic}, {"warning", warning}});
  }
}

}  // namespace berth
