#include "core/placement/queue_positions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "core/json/json.h"

namespace berth {

namespace {

// Beside one commit, which many waiting pods must not make long: the others follow with the next ones.
constexpr std::size_t kPositionsPerCommit = 16;

struct Member {
  std::string_view name;
  int QueuePosition::* value;
};
constexpr std::array<Member, 3> kCounts{{{"attempts", &QueuePosition::attempts},
                                         {"rejected", &QueuePosition::unschedulable_count},
                                         {"errors", &QueuePosition::consecutive_errors}}};

Json encode(const QueuePosition& position) {
  Json json = Json::object();
  json.set("since", position.timestamp).set("first", position.initial_attempt);
  for (const Member& count : kCounts) json.set(count.name, position.*count.value);
  return json;
}

Result<QueuePosition> decode_position(std::string_view text) {
  const Result<Json> json = Json::parse(text, {.bytes = 4096, .depth = 2});
  if (!json) return json.error();
  const auto integer = [&json](std::string_view name) -> Result<std::int64_t> {
    const Json* value = json->find(name);
    if (value == nullptr || !value->is_integer()) return Status::error(std::string(name) + ": expected an integer");
    return value->as_int();
  };
  QueuePosition position;
  for (const auto& [name, target] : {std::pair{"since", &position.timestamp}, {"first", &position.initial_attempt}}) {
    const Result<std::int64_t> value = integer(name);
    if (!value) return value.error();
    *target = *value;
  }
  for (const Member& count : kCounts) {
    const Result<std::int64_t> value = integer(count.name);
    if (!value) return value.error();
    position.*count.value = static_cast<int>(std::clamp<std::int64_t>(*value, 0, std::numeric_limits<int>::max()));
  }
  return position;
}

QueuePosition position_of(const QueuedPod& queued) {
  return {queued.timestamp, queued.attempts, queued.unschedulable_count, queued.consecutive_errors,
          queued.initial_attempt};
}

}  // namespace

Status load_position(Objects& objects, const RecordView& record) {
  Result<QueuePosition> position = decode_position(record.value);
  if (!position) {
    return Status::error("stored queue position of pod " + std::string(record.key) + ": " + position.error().message());
  }
  if (PodEntry* entry = objects.pods().find_by_uid(record.key)) {
    entry->edit_extras([&position](PodExtras& extras) { extras.position = *position; });
  }
  return Status::ok();
}

void save_positions(const PlacementContext& context, Queue& queue, bool all) {
  const std::size_t most = all ? std::numeric_limits<std::size_t>::max() : kPositionsPerCommit;
  for (const Text& uid : queue.take_returned(most)) {
    PodEntry* entry = context.objects.pods().find_by_uid(uid);
    if (entry == nullptr) continue;
    const QueuePosition position = position_of(*queue.find(uid));
    if (entry->extras().position == position) continue;
    entry->edit_extras([&position](PodExtras& extras) { extras.position = position; });
    context.store.put(Table::queue, uid, encode(position).dump());
  }
}

void forget_position(const PlacementContext& context, std::string_view uid) {
  PodEntry* entry = context.objects.pods().find_by_uid(uid);
  if (entry == nullptr || !entry->extras().position) return;
  context.store.erase(Table::queue, std::string(uid));
  entry->edit_extras([](PodExtras& extras) { extras.position.reset(); });
}

void resume_attempts(const QueuePosition& position, QueuedPod& queued) {
  queued.attempts = position.attempts;
  queued.unschedulable_count = position.unschedulable_count;
  queued.consecutive_errors = position.consecutive_errors;
}

}  // namespace berth
