// What the broker retains of pods. An operator's manifest that it retains just as it was accepted is not mirrored: on
// the radio that would cost a third of a bind. Then nothing marks it as taken in, so that once the pod is gone, and the
// clearing of its topic lost with the link or the power, it would be an order again, and the pod would come back. So
// the uid stays known, durably, until a fence behind the clearing shows that the broker has it.
#include <tuple>

#include "core/gateway/gateway.h"
#include "core/objects/accepting.h"

namespace berth {

void Gateway::mirror(Kind kind, const std::string& key) {
  if (kind == Kind::pod) {
    if (PodEntry* entry = objects_.find_pod(key)) entry->left_in = 0;
    under_way_.insert(key);
    if (settling_) settling_->keys.erase(key);
  }
  publisher_.mirror(kind, key);
  if (!objects_.has(kind, key)) publisher_.mark(kind, key);
}

// A mirror or clearing of ours that is under way may reach the broker after what it retains now.
void Gateway::mirror_pod(PodEntry& entry) {
  const std::string& key = entry.key;
  entry.seen_in = session_;
  if (inbox_ != entry.pod->manifest().text() || under_way_.contains(key)) return mirror(Kind::pod, key);
  entry.left_in = session_;
}

// `was_left`: the broker retains the operator's word, as far as is known.
void Gateway::clear_pod(const std::string& key, const std::string& uid, bool was_left) {
  // Before the fence it is not known what the broker retains, and a mirror that is owed has not taken the word's place.
  const bool may_be_retained = was_left || !synced_ || publisher_.owes_mirror(Kind::pod, key);
  if (may_be_retained && identity_.withdrawn.insert(uid).second) identity_changed_ = true;
  if (!was_left) superseded_.supersede({Kind::pod, key}, std::nullopt);  // it may not name the uid
  clear_withdrawn(key, uid);
}

// Until the clearing has left, and a fence behind it is back, the uid stays withdrawn.
void Gateway::clear_withdrawn(const std::string& key, const std::string& uid) {
  if (identity_.withdrawn.contains(uid)) clearings_[key].insert(uid);
  if (settling_) settling_->uids.erase(uid);
  mirror(Kind::pod, key);
}

// What the broker retains of the object is known in this session: the rest is mirrored again, see republish_all().
void Gateway::note_seen(Kind kind, const std::string& key) {
  if (kind != Kind::pod) {
    seen_desired_.insert({kind, key});
  } else if (PodEntry* entry = objects_.find_pod(key)) {
    entry->seen_in = session_;
  }
}

bool Gateway::is_seen(Kind kind, const std::string& key) const {
  if (kind != Kind::pod) return seen_desired_.contains({kind, key});
  const PodEntry* entry = objects_.find_pod(key);
  return entry != nullptr && entry->seen_in == session_;
}

// The status of an object that is gone clears its topic. Nothing would tell of it again when that is lost with the
// link: it is said at each connect until a fence behind it is back.
Json Gateway::status_to_publish(Kind kind, const std::string& key) {
  Json status = status_of(kind, key);
  if (status.is_null()) {
    cleared_[{kind, key}] = fence_ + 1;
  } else {
    cleared_.erase({kind, key});
    // PodScheduled says it to all who read along; the epoch is for those who ask.
    const Json* scheduler = kind == Kind::pod ? status.find("scheduler") : nullptr;
    const Json* phase = scheduler == nullptr ? nullptr : scheduler->find("phase");
    if (phase != nullptr && *phase == Json(to_string(Phase::bound))) status.erase("scheduler");
  }
  return status;
}

// What a gateway said whose store is lost: of an object that is gone nobody else would clear it.
void Gateway::on_status(const std::vector<std::string_view>& levels, const Message& message) {
  const KindName* kind = find_kind(levels[1]);
  if (!message.retain || message.payload.empty() || kind == nullptr || kind->plural != levels[1]) return;
  if (levels.size() != (kind->namespaced ? 4u : 3u)) return;
  publisher_.mark(kind->kind,
                  kind->namespaced ? std::string(levels[2]) + "/" + std::string(levels[3]) : std::string(levels[2]));
}

// `order` is not the broker's to retain: what that retains of the object is older now.
void Gateway::change(Kind kind, const std::string& key, const std::function<void()>& order) {
  const auto held = [&] {
    const PodEntry* entry = kind == Kind::pod ? objects_.find_pod(key) : nullptr;
    const bool is_deleting = entry != nullptr && entry->deleting;
    return std::tuple(objects_.text(kind, key), is_deleting,
                      std::string(entry == nullptr ? std::string_view() : entry->successor.text()));
  };
  const auto before = held();
  const PodEntry* entry = kind == Kind::pod ? objects_.find_pod(key) : nullptr;
  if (entry != nullptr && entry->left_in == session_) {
    superseded_.note_retained({kind, key}, entry->pod->manifest().text());
  }
  order();
  const std::optional<std::string> now = objects_.text(kind, key);
  if (!now || held() == before) return;  // gone: see clear_pod() and erase_other()
  if (superseded_.supersede({kind, key}, now)) mirror(kind, key);
}

// At a tick: a fence follows what was published and subscribed to before, on the same connection. Until it is back it
// is sent again. It does not stand behind what is owed.
void Gateway::settle_mirrors() {
  if (!settling_) {
    const auto is_owed = [this](const std::string& key) { return publisher_.owes_mirror(Kind::pod, key); };
    std::erase_if(clearings_, [&](const auto& each) { return !is_owed(each.first); });
    Settling sent{under_way_, identity_.withdrawn, reading_again_};
    std::erase_if(sent.keys, is_owed);
    for (const auto& [key, uids] : clearings_) {
      for (const std::string& uid : uids) sent.uids.erase(uid);
    }
    const bool is_still = sent.keys.empty() && sent.uids.empty() && cleared_.empty() && !superseded_.waits_for_fence();
    if (is_still && !reading_again_) return;
    settling_ = std::move(sent);
    ++fence_;
  }
  turn_.after_commit([this] { send_fence(); });
}

void Gateway::mirrors_settled() {
  const std::optional<Settling> settled = std::exchange(settling_, std::nullopt);
  if (!settled) return;
  for (const std::string& key : settled->keys) under_way_.erase(key);
  for (const std::string& uid : settled->uids) {
    if (identity_.withdrawn.erase(uid) > 0) identity_changed_ = true;
  }
  superseded_.settled(fence_);
  std::erase_if(cleared_, [this](const auto& each) { return each.second <= fence_; });
  if (settled->reading_again) reading_again_ = false;
}

}  // namespace berth
