#include "core/mirror/mirror.h"

#include <tuple>
#include <utility>

#include "core/handshake/fields.h"

namespace berth {

namespace {

// What republish() may leave pending: names that would take memory while a slow broker takes in those before them.
constexpr std::size_t kPendingMax = 2'000;

}  // namespace

Mirror::Mirror(Turn& turn, const Topics& topics, const Clock& clock, Store& store, Objects& objects,
               IdentityRecord& identity, const std::string& gateway)
    : clock_(clock),
      turn_(turn),
      objects_(objects),
      identity_(identity),
      publisher_(turn, topics),
      superseded_(store),
      past_(store),
      barrier_(turn, topics, gateway) {}

void Mirror::publish(Kind kind, const std::string& key) {
  if (kind == Kind::pod) {
    if (PodEntry* entry = objects_.pods().find(key)) entry->order_session = 0;
    under_way_.insert(key);
    if (settling_) settling_->keys.erase(key);
  }
  publisher_.mirror(kind, key);
  if (!objects_.has(kind, key)) publisher_.mark(kind, key);
}

// A mirror or clearing of ours that is under way may reach the broker after what it retains now.
void Mirror::publish_accepted(PodEntry& entry) {
  const std::string& key = entry.key;
  entry.seen_session = barrier_.session();
  if (!is_mirrored(*entry.pod)) return;
  if (order_in_hand_ != entry.pod->manifest().text() || under_way_.contains(key)) return publish(Kind::pod, key);
  entry.order_session = barrier_.session();
}

void Mirror::clear_pod(const std::string& key, const std::string& uid, bool order_retained) {
  // Before the barrier is back it is not known what the broker retains, and a mirror that is still pending has not
  // replaced the order there.
  const bool may_be_retained = order_retained || !barrier_.is_synced() || publisher_.is_mirror_pending(Kind::pod, key);
  if (may_be_retained) identity_.insert(&Identity::withdrawn, uid);
  if (!order_retained) superseded_.supersede({Kind::pod, key}, std::nullopt);  // it may not name the uid
  clear_withdrawn(key, uid);
}

void Mirror::clear_withdrawn(const std::string& key, const std::string& uid) {
  if (identity_->withdrawn.contains(uid)) clearings_[key].insert(uid);
  if (settling_) settling_->uids.erase(uid);
  publish(Kind::pod, key);
}

void Mirror::note_seen(Kind kind, const std::string& key) {
  if (kind != Kind::pod) {
    seen_.insert({kind, key});
  } else if (PodEntry* entry = objects_.pods().find(key)) {
    entry->seen_session = barrier_.session();
  }
}

bool Mirror::is_seen(Kind kind, const std::string& key) const {
  if (kind != Kind::pod) return seen_.contains({kind, key});
  const PodEntry* entry = objects_.pods().find(key);
  return entry != nullptr && entry->seen_session == barrier_.session();
}

// The status of an object that is gone clears its topic. Nothing would repeat that when it is lost with the link: it is
// published at each connect until a barrier behind it is back.
Json Mirror::note_status(Kind kind, const std::string& key, Json status) {
  if (status.is_null()) {
    cleared_[{kind, key}] = barrier_.next();
  } else {
    cleared_.erase({kind, key});
  }
  return status;
}

void Mirror::apply_unretained(Kind kind, const std::string& key, const std::function<void()>& order) {
  const auto held = [&] {
    const PodEntry* entry = kind == Kind::pod ? objects_.pods().find(key) : nullptr;
    const bool is_deleting = entry != nullptr && entry->deleting;
    return std::tuple(objects_.text(kind, key), is_deleting,
                      std::string(entry == nullptr ? std::string_view() : entry->extras().successor.text()));
  };
  const auto before = held();
  const PodEntry* entry = kind == Kind::pod ? objects_.pods().find(key) : nullptr;
  if (entry != nullptr && entry->order_session == barrier_.session()) {
    superseded_.note_retained({kind, key}, entry->pod->manifest().text());
  }
  order();
  const std::optional<std::string> now = objects_.text(kind, key);
  if (!now || held() == before) return;  // gone: see clear_pod() and ObjectRegistry::erase()
  if (superseded_.supersede({kind, key}, now)) publish(kind, key);
}

void Mirror::start_session() {
  seen_.clear();
  republish_from_ = kinds().size();
  under_way_.clear();
  clearings_.clear();
  superseded_.connected();
  past_.start_session();
  publisher_.forget_mirrors();  // republish() marks those that the broker lacks
  settling_.reset();
  reading_again_ = false;
}

void Mirror::on_synced() {
  republish_from_ = 0;
  republished_ = {};
  for (const auto& [named, number] : cleared_) publisher_.repeat(named.first, named.second);
  for (const auto& [kind, key] : superseded_.objects()) publish(kind, key);
}

void Mirror::republish(std::int64_t end_us) {
  bool is_full = false;
  while (has_more_to_republish() && !is_full && clock_.now_us() < end_us) {
    const Kind kind = kinds()[republish_from_].kind;
    if (const std::optional<std::string> key = objects_.next_key(kind, republished_)) {
      const PodEntry* pod = kind == Kind::pod ? objects_.pods().find(*key) : nullptr;
      if (!is_seen(kind, *key) && (pod == nullptr || is_mirrored(*pod->pod))) publish(kind, *key);
      publisher_.repeat(kind, *key);
    } else {
      ++republish_from_;
      republished_ = {};
    }
    is_full = publisher_.pending() >= kPendingMax;
  }
}

bool Mirror::has_more_to_republish() const { return republish_from_ < kinds().size(); }

// A barrier follows what was published and subscribed to before, on the same connection. It does not stand behind what
// is still pending.
void Mirror::settle() {
  if (!settling_) {
    const auto is_pending = [this](const std::string& key) { return publisher_.is_mirror_pending(Kind::pod, key); };
    std::erase_if(clearings_, [&](const auto& each) { return !is_pending(each.first); });
    Settling sent{under_way_, identity_->withdrawn, reading_again_, past_.sent()};
    std::erase_if(sent.keys, is_pending);
    for (const auto& [key, uids] : clearings_) {
      for (const std::string& uid : uids) sent.uids.erase(uid);
    }
    const bool is_still =
        sent.keys.empty() && sent.uids.empty() && cleared_.empty() && !superseded_.waits_for_barrier();
    if (is_still && !reading_again_ && !past_.is_mark_due()) return;
    settling_ = std::move(sent);
    barrier_.raise();
  }
  turn_.after_commit([this] { barrier_.send(); });
}

void Mirror::settled() {
  const std::optional<Settling> settled = std::exchange(settling_, std::nullopt);
  if (!settled) return;
  for (const std::string& key : settled->keys) under_way_.erase(key);
  for (const std::string& uid : settled->uids) identity_.erase(&Identity::withdrawn, uid);
  superseded_.settled(barrier_.number());
  std::erase_if(cleared_, [this](const auto& each) { return each.second <= barrier_.number(); });
  if (settled->reading_again) reading_again_ = false;
  if (settled->orders > past_.marked()) {
    past_.set_marked(settled->orders);
    turn_.after_commit([this, number = settled->orders] { barrier_.leave_mark(identity_->id.store_id, number); });
  }
}

// The numbers of another store mean nothing here.
void Mirror::take_mark(const std::string& payload) {
  const Result<Json> json = Json::parse(payload);
  if (!json) return;
  const std::string store_id = json->string_at("storeId");
  const std::uint64_t orders = parse_u64(json->string_at("orders")).value_or(0);
  if (store_id == identity_->id.store_id) return past_.set_marked(orders);
  // The copy went back, not the broker: what it retains replaced all that the copy took for past then.
  if (!lost_store_ || store_id != lost_store_->id || orders < lost_store_->newest_order) return;
  past_.set_marked(lost_store_->newest_order);
}

void Mirror::end_turn() {
  past_.save();
  if (barrier_.is_synced() && !has_more_to_republish() && !publisher_.has_pending_mirrors()) past_.note_all_sent();
}

bool Mirror::is_past(Kind kind, const std::string& key, const Json& order) const {
  if (!may_be_old() || !past_.is_past(kind, key, order)) return false;
  if (PastOrders::are_equal(order, objects_.manifest(kind, key))) return false;
  const PodEntry* entry = kind == Kind::pod ? objects_.pods().find(key) : nullptr;
  return entry == nullptr || !PastOrders::are_equal(order, entry->extras().successor.json());
}

}  // namespace berth
