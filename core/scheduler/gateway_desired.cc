// desired/: what operators say, what the broker retains of it, and the gateway's own word coming back (handshake.md
// §2).
#include "core/scheduler/accepting.h"
#include "core/scheduler/gateway.h"

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
  if (Board::is_mirror(message) && !message.retain) return;
  if (board_.is_own_mirror(message)) {
    // Retained since an earlier session: the one word that may have been lost is the last.
    note_seen(kind->kind, key);
    if (objects_.text(kind->kind, key) != message.payload) mirror(kind->kind, key);
    return;
  }
  // Another store's: of use where it was retained before this session, and no later.
  if (Board::is_mirror(message) && synced_ && !reading_again_) return;
  if (message.payload.empty()) {
    // Absence never deletes: the mirror is restored.
    if (objects_.has(kind->kind, key)) mirror(kind->kind, key);
    return;
  }
  Result<Json> json = Json::parse(message.payload);
  if (!json) return refuse(message.topic, json.error().message());
  const std::string uid = kind->kind == Kind::pod ? uid_of(*json) : std::string();
  if (identity_.withdrawn.contains(uid)) return clear_withdrawn(key, uid);
  note_seen(kind->kind, key);
  if (message.retain) return read_order(kind->kind, key, *json, message);
  change(kind->kind, key, [&] { take_order(kind->kind, key, *json, message); });
}

// The broker retains it: said just now, or before this session.
void Gateway::read_order(Kind kind, const std::string& key, const Json& json, const Message& message) {
  const Overtaken::Named named{kind, key};
  const std::string text = json.dump();
  const bool may_be_old = !synced_ || reading_again_;
  if (may_be_old && overtaken_.contains(named, text)) return mirror(kind, key);
  const bool is_known = objects_.text(kind, key) == text;
  const std::optional<std::string_view> word = is_known ? std::nullopt : std::optional<std::string_view>(text);
  if (overtaken_.note_retained(named, word, is_delete(json))) identity_changed_ = true;
  const bool had_room = take_order(kind, key, json, message);
  if (is_known) return;
  const PodEntry* entry = kind == Kind::pod ? objects_.find_pod(key) : nullptr;
  const bool is_left =
      kind == Kind::pod ? entry != nullptr && entry->left_in == session_ : objects_.text(kind, key) == text;
  if (is_left || !had_room) overtaken_.note_retained(named, std::nullopt);
}

// False: there was no room for it.
bool Gateway::take_order(Kind kind, const std::string& key, const Json& json, const Message& message) {
  if (is_delete(json)) {
    PodEntry* entry = kind == Kind::pod && message.retain ? objects_.find_pod(key) : nullptr;
    if (entry != nullptr) entry->left_in = 0;
    if (message.retain) board_.forget_mirror(kind, key);  // the order stands until it is carried out
    const Json* uid = json.find("uid");
    const Status removed = remove_object(kind, key, uid != nullptr && uid->is_string() ? uid->as_string() : "");
    if (!removed.is_success() || !objects_.has(kind, key)) mirror(kind, key);
    return true;
  }
  const std::string text = json.dump();
  const std::optional<std::string> known = objects_.text(kind, key);
  if (known == text) {
    if (kind == Kind::pod && message.retain) objects_.find_pod(key)->left_in = session_;
    return true;
  }
  if (message.retain && !Board::is_mirror(message)) inbox_ = text;
  Result<Accepted> accepted = accept(kind, json, key, false);
  inbox_.reset();
  if (!accepted) {
    refuse(message.topic, accepted.error().message());
    const bool had_room = accepted.error().code() != Code::unschedulable;
    if (!had_room) {
      turned_away_ = true;  // read again when there is room: until then it stays where it is
      if (!known && message.retain) board_.forget_mirror(kind, key);
    }
    // The owner's word stands; the inbox shows it again.
    if (known && message.retain) mirror(kind, key);
    return had_room;
  }
  // The inbox says less than is known (who is bound to whom): it shows the owner's word again.
  if (accepted->word == "unchanged") mirror(kind, key);
  for (const std::string& warning : accepted->warnings) {
    log_.write(Level::warn, "accepted with a warning", {{"topic", message.topic}, {"warning", warning}});
  }
  return true;
}

}  // namespace berth
