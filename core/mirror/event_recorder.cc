#include "core/mirror/event_recorder.h"

#include <algorithm>
#include <charconv>

namespace berth {

namespace {

// What a record of this table has had at all times: a program of the previous release reads it as the queue position
// of a pod that it does not know, and leaves it alone.
constexpr std::string_view kPositionMembers[] = {"since", "first", "attempts", "rejected", "errors"};
constexpr std::size_t kRecordBytesMax = 4096;
constexpr std::size_t kShortMessage = 256;  // of one that does not fit into a record, with all that has to be escaped

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  text.resize(most);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.pop_back();
  return text;
}

std::string key_of_record(std::uint64_t id) { return std::string(EventRecorder::kRecords) + std::to_string(id); }

Json encode(const EventRecord& record, const std::string& message) {
  Json json = Json::object();
  for (const std::string_view member : kPositionMembers) json.set(member, 0);
  json.set("kind", describe(record.event.kind).name).set("object", record.event.object.get());
  json.set("type", record.event.type.get()).set("reason", record.event.reason.get()).set("message", message);
  if (!record.event.source.empty()) json.set("source", record.event.source.get());
  return json.set("firstSeen", record.first).set("lastSeen", record.last).set("count", record.count);
}

std::int64_t integer_at(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr && value->is_integer() ? value->as_int() : 0;
}

std::string text_of(const Json& value) { return value.dump(); }

// Those of one turn became durable together: they are published with the time of the first, which a list has once.
std::vector<Members> of_one_time(std::vector<Members> events) {
  for (Members& event : events) event.back() = events.front().back();
  return events;
}

}  // namespace

EventRecorder::EventRecorder(Turn& turn, const Topics& topics, const Clock& clock, Store& store)
    : topics_(topics),
      clock_(clock),
      store_(store),
      out_(turn, [](const std::vector<Members>& events) { return lists_of(of_one_time(events), {"reason"}); }) {}

Status EventRecorder::load(const RecordView& record) {
  const std::string_view number = record.key.substr(kRecords.size());
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  const Result<Json> json = Json::parse(record.value, {.bytes = kRecordBytesMax, .depth = 2});
  const KindName* kind = json ? find_kind(json->string_at("kind")) : nullptr;
  if (error != std::errc() || end != number.data() + number.size() || id == 0 || kind == nullptr) {
    return Status::error("stored " + std::string(record.key) + ": is no event");
  }
  Kept kept;
  kept.record.event = {kind->kind,
                       Text(json->string_at("object")),
                       Text::common(json->string_at("type")),
                       Text::common(json->string_at("reason")),
                       json->string_at("message"),
                       Text::common(json->string_at("source"))};
  kept.record.first = integer_at(*json, "firstSeen");
  kept.record.last = integer_at(*json, "lastSeen");
  kept.record.count = static_cast<int>(integer_at(*json, "count"));
  // While the wall clock is not set, it stays another hour.
  kept.seen = clock_.now() - std::clamp<Millis>(clock_.wall() - kept.record.last, 0, kKeptMs);
  kept.is_new = false;
  stored_.insert(id);
  next_id_ = std::max(next_id_, id + 1);
  touch(records_.insert_or_assign(id, std::move(kept)).first->second, id);
  return Status::ok();
}

void EventRecorder::record(ObjectEvent event, const std::string& node) {
  event.message = cut(std::move(event.message), kMaxMessageBytes);
  const Millis wall = clock_.wall();
  if (Kept* equal = find_equal(event)) {
    const std::set<std::uint64_t>& others = by_object_.at({event.kind, event.object});
    const bool is_newest = std::all_of(others.begin(), others.end(), [&](std::uint64_t id) {
      return records_.at(id).record.order <= equal->record.order;
    });
    // A pod that stays pending for one reason is published once, and counted here.
    if (!is_newest && may_record(event)) publish(event, wall, node);
    ++equal->record.count;
    equal->record.last = wall;
    equal->is_counted = true;
    const auto at = orders_.find(equal->record.order);
    const std::uint64_t id = at->second;
    orders_.erase(at);
    equal->seen = clock_.now();
    touch(*equal, id);
    return;
  }
  if (!may_record(event)) return;
  make_room(event);
  publish(event, wall, node);
  Kept kept;
  kept.record = {std::move(event), wall, wall, 1, 0};
  kept.seen = clock_.now();
  has_new_ = has_new_ || kept.record.event.is_saved;
  const std::uint64_t id = next_id_++;
  touch(records_.emplace(id, std::move(kept)).first->second, id);
}

// It is the newest now.
void EventRecorder::touch(Kept& kept, std::uint64_t id) {
  const ObjectEvent& event = kept.record.event;
  const bool is_known = !by_object_[{event.kind, event.object}].insert(id).second;
  if (!is_known && !event.source.empty()) ++by_source_[event.source];
  if (!is_known && !event.is_saved) ++unsaved_;
  kept.record.order = next_order_++;
  orders_[kept.record.order] = id;
}

EventRecorder::Kept* EventRecorder::find_equal(const ObjectEvent& event) {
  const auto found = by_object_.find({event.kind, event.object});
  if (found == by_object_.end()) return nullptr;
  for (const std::uint64_t id : found->second) {
    Kept& kept = records_.at(id);
    const ObjectEvent& known = kept.record.event;
    if (!kept.closed && known.reason == event.reason && known.type == event.type && known.message == event.message) {
      return &kept;
    }
  }
  return nullptr;
}

bool EventRecorder::may_record(const ObjectEvent& event) {
  if (event.source.empty()) return true;
  const auto [at, is_first] = buckets_.try_emplace({event.source, {event.kind, event.object}});
  Bucket& bucket = at->second;
  const Millis now = clock_.now();
  if (!is_first) {
    const double gained = static_cast<double>(now - bucket.at) / static_cast<double>(kRefillMs);
    bucket.tokens = std::min<double>(kBurst, bucket.tokens + gained);
  }
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

void EventRecorder::publish(const ObjectEvent& event, Millis wall, const std::string& node) {
  const std::string object = event.object;
  const std::size_t slash = object.find('/');
  const std::string name_space = slash == std::string::npos ? "default" : object.substr(0, slash);
  Members said{{"name", text_of(slash == std::string::npos ? object : object.substr(slash + 1))},
               {"reason", text_of(event.reason.get())}};
  if (event.kind != Kind::pod) said.emplace_back("kind", text_of(describe(event.kind).name));
  if (event.type != "Normal") said.emplace_back("type", text_of(event.type.get()));
  said.emplace_back(node.empty() ? "message" : "node", text_of(node.empty() ? event.message : node));
  said.emplace_back("time", text_of(std::to_string(wall)));  // the last one, for of_one_time()
  Message envelope;
  envelope.topic = topics_.events(name_space);
  envelope.qos = 0;
  out_.send(std::move(envelope), std::move(said));
}

// 0: none.
std::uint64_t EventRecorder::oldest_of(const std::function<bool(const Kept&)>& is_wanted) const {
  for (const auto& [order, id] : orders_) {
    if (is_wanted(records_.at(id))) return id;
  }
  return 0;
}

void EventRecorder::make_room(const ObjectEvent& event) {
  const auto of_object = by_object_.find({event.kind, event.object});
  if (of_object != by_object_.end() && of_object->second.size() >= kMaxOfObject) {
    // One that makes pods has as many events as they are: to look at those of all objects would cost more than the pod.
    const auto is_older = [this](std::uint64_t a, std::uint64_t b) {
      return records_.at(a).record.order < records_.at(b).record.order;
    };
    forget(*std::min_element(of_object->second.begin(), of_object->second.end(), is_older));
  }
  const auto of_source = by_source_.find(event.source);
  if (of_source != by_source_.end() && of_source->second >= kMaxOfSource) {
    forget(oldest_of([&](const Kept& kept) { return kept.record.event.source == event.source; }));
  }
  if (records_.size() < kMaxEvents) return;
  // Pods that come and go do not push out what went wrong.
  forget(unsaved_ > 0 ? oldest_of([](const Kept& kept) { return !kept.record.event.is_saved; })
                      : orders_.begin()->second);
}

void EventRecorder::forget(std::uint64_t id) {
  const auto found = records_.find(id);
  if (found == records_.end()) return;
  const ObjectEvent& event = found->second.record.event;
  const auto of_object = by_object_.find({event.kind, event.object});
  of_object->second.erase(id);
  if (of_object->second.empty()) by_object_.erase(of_object);
  if (const auto of_source = by_source_.find(event.source); of_source != by_source_.end() && --of_source->second == 0) {
    by_source_.erase(of_source);
  }
  if (!event.is_saved) --unsaved_;
  orders_.erase(found->second.record.order);
  records_.erase(found);
}

void EventRecorder::part_from(Kind kind, std::string_view object) {
  const auto found = by_object_.find({kind, Text(object)});
  if (found == by_object_.end()) return;
  for (const std::uint64_t id : found->second) records_.at(id).closed = true;
}

void EventRecorder::expire() {
  const Millis now = clock_.now();
  if (now < none_old_before_) return;
  none_old_before_ = now + std::min(kKeptMs, kBurst * kRefillMs);  // before that nothing that comes from now on
  const auto is_old = [&](Millis since, Millis most) {
    if (now - since >= most) return true;
    none_old_before_ = std::min(none_old_before_, since + most);
    return false;
  };
  std::vector<std::uint64_t> old;
  for (const auto& [id, kept] : records_) {
    if (is_old(kept.seen, kKeptMs)) old.push_back(id);
  }
  for (const std::uint64_t id : old) forget(id);
  std::erase_if(buckets_, [&](const auto& bucket) { return is_old(bucket.second.at, kBurst * kRefillMs); });
}

void EventRecorder::save(bool beside) {
  if (!has_new_) return;
  is_due_ = is_due_ || beside;
  const bool is_soon = has_saved_ && clock_.now() - saved_at_ < kBesideMs;
  if (is_due_ && !is_soon) save_all();
}

void EventRecorder::save_all() {
  has_new_ = is_due_ = false;
  has_saved_ = true;
  saved_at_ = clock_.now();
  std::set<std::uint64_t> wanted;
  for (auto at = orders_.rbegin(); at != orders_.rend() && wanted.size() < kMaxSaved; ++at) {
    if (records_.at(at->second).record.event.is_saved) wanted.insert(at->second);
  }
  for (const std::uint64_t id : std::set<std::uint64_t>(stored_)) {
    if (wanted.contains(id)) continue;
    store_.erase(Table::queue, key_of_record(id));
    stored_.erase(id);
  }
  for (const std::uint64_t id : wanted) {
    Kept& kept = records_.at(id);
    if (kept.is_new || kept.is_counted) write(id, kept);
  }
}

void EventRecorder::write(std::uint64_t id, Kept& kept) {
  std::string text = encode(kept.record, kept.record.event.message).dump();
  if (text.size() > kRecordBytesMax) {
    text = encode(kept.record, cut(kept.record.event.message, kShortMessage)).dump();
  }
  store_.put(Table::queue, key_of_record(id), text);
  stored_.insert(id);
  kept.is_new = kept.is_counted = false;
}

std::vector<const EventRecord*> EventRecorder::of(Kind kind, std::string_view object) const {
  std::vector<const EventRecord*> found;
  const auto ids = by_object_.find({kind, Text(object)});
  if (ids == by_object_.end()) return found;
  std::map<std::uint64_t, const EventRecord*> sorted;
  for (const std::uint64_t id : ids->second) sorted[records_.at(id).record.order] = &records_.at(id).record;
  for (const auto& [order, record] : sorted) found.push_back(record);
  return found;
}

std::vector<const EventRecord*> EventRecorder::all() const {
  std::vector<const EventRecord*> found;
  for (const auto& [order, id] : orders_) found.push_back(&records_.at(id).record);
  return found;
}

}  // namespace berth
