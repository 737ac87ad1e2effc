// Where pods stand in the queue, over a restart: the order in which they came, and of those that failed the attempts.
//
// Both are written only beside something else, so that a pod that fits nowhere costs the flash nothing by being tried
// again; a restart knows of a pod's attempts what the last commit knew. A clean end commits what is left, and so what
// was not written to spare the flash.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/gateway/gateway.h"

namespace berth {

namespace {

// Beside one commit: many pods that wait must not make it long. The others come with the next ones.
constexpr std::size_t kPlacesPerCommit = 16;

struct Member {
  std::string_view name;
  int QueuePosition::* value;
};
constexpr std::array<Member, 3> kCounts{{{"attempts", &QueuePosition::attempts},
                                         {"rejected", &QueuePosition::unschedulable_count},
                                         {"errors", &QueuePosition::consecutive_errors}}};

Json encode(const QueuePosition& place) {
  Json json = Json::object();
  json.set("since", place.timestamp).set("first", place.initial_attempt);
  for (const Member& count : kCounts) json.set(count.name, place.*count.value);
  return json;
}

Result<QueuePosition> decode(std::string_view text) {
  const Result<Json> json = Json::parse(text, {.bytes = 4096, .depth = 2});
  if (!json) return json.error();
  const auto integer = [&json](std::string_view name) -> Result<std::int64_t> {
    const Json* value = json->find(name);
    if (value == nullptr || !value->is_integer()) return Status::error(std::string(name) + ": an integer is wanted");
    return value->as_int();
  };
  QueuePosition place;
  for (const auto& [name, target] : {std::pair{"since", &place.timestamp}, {"first", &place.initial_attempt}}) {
    const Result<std::int64_t> value = integer(name);
    if (!value) return value.error();
    *target = *value;
  }
  for (const Member& count : kCounts) {
    const Result<std::int64_t> value = integer(count.name);
    if (!value) return value.error();
    place.*count.value = static_cast<int>(std::clamp<std::int64_t>(*value, 0, std::numeric_limits<int>::max()));
  }
  return place;
}

QueuePosition place_of(const QueuedPod& queued) {
  return {queued.timestamp, queued.attempts, queued.unschedulable_count, queued.consecutive_errors,
          queued.initial_attempt};
}

}  // namespace

Status Gateway::load_place(const RecordView& record) {
  const std::string uid(record.key);
  Result<QueuePosition> place = decode(record.value);
  if (!place) return Status::error("stored place of pod " + uid + " in the queue: " + place.error().message());
  places_[uid] = *place;
  return Status::ok();
}

// In the order in which they would be tried: the queue breaks ties of its own order by who comes first.
void Gateway::restore_queue() {
  std::vector<std::pair<QueuePosition, std::shared_ptr<const Pod>>> waiting;
  for (const auto& [key, entry] : objects_.pods()) {
    std::string_view uid = entry.pod->uid();
    if (entry.finished || entry.deleting) continue;
    if (cache_.is_placed(uid) || bindings_.contains(uid)) continue;  // most are placed, which is asked in less time
    QueuePosition place;
    place.timestamp = entry.arrived;
    if (auto known = places_.find(uid); known != places_.end()) place = known->second;
    waiting.emplace_back(place, entry.pod);
  }
  std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
    if (a.first.timestamp != b.first.timestamp) return a.first.timestamp < b.first.timestamp;
    return a.second->metadata.key() < b.second->metadata.key();
  });
  for (const auto& [place, pod] : waiting) enqueue(pod, &place);
}

void Gateway::save_places(bool all) {
  if (!all && (saving_writes_ || store_.next_position() == position_)) return;
  const std::size_t most = all ? std::numeric_limits<std::size_t>::max() : kPlacesPerCommit;
  for (const Text& uid : queue_.take_returned(most)) {
    const QueuePosition place = place_of(*queue_.find(uid));
    if (auto [known, added] = places_.try_emplace(uid, place); !added) {
      if (known->second == place) continue;
      known->second = place;
    }
    store_.put(Table::queue, uid, encode(place).dump());
  }
}

void Gateway::save_writes(bool spare) {
  saving_writes_ = spare;
  nodes_.save_writes(spare);
  if (!spare) save_deferred();
}

void Gateway::save_deferred() {
  nodes_.save_deferred();
  for (const std::string& key : std::exchange(deferred_writes_, {})) {
    if (objects_.find_pod(key) != nullptr) objects_.save_pod(key);
  }
}

void Gateway::forget_place(std::string_view uid) {
  const auto found = places_.find(uid);
  if (found == places_.end()) return;
  store_.erase(Table::queue, found->first);
  places_.erase(found);
}

void Gateway::take_place(const QueuePosition& place, QueuedPod& queued) {
  queued.attempts = place.attempts;
  queued.unschedulable_count = place.unschedulable_count;
  queued.consecutive_errors = place.consecutive_errors;
}

}  // namespace berth
