#include "core/handshake/row.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/api/names.h"
#include "core/bytes.h"
#include "core/check.h"
#include "core/handshake/fields.h"
#include "core/json/json.h"

namespace berth {

namespace {

using enum RowEvent;

// Released, Rejected, Stale and Hello prove that the epoch will never run (again), so they end the row in every phase
// in which a correct node can send them. Rejected is deliberately missing in bound: the node answered Bound, so it
// cannot have rejected the epoch; should it have lost it nevertheless, the next Bind is answered Stale.
constexpr std::array kMoves{
    Move{Phase::none, found_running, Phase::bound, false}, Move{Phase::none, found_ending, Phase::release, false},
    Move{Phase::none, begin, Phase::prebind, false},       Move{Phase::prebind, pre_bound, Phase::bind, false},
    Move{Phase::prebind, released, Phase::none, false},    Move{Phase::prebind, rejected, Phase::none, false},
    Move{Phase::prebind, stale, Phase::none, false},       Move{Phase::prebind, hello, Phase::none, false},
    Move{Phase::prebind, forget, Phase::none, false},      Move{Phase::prebind, leave, Phase::none, true},
    Move{Phase::bind, bound, Phase::bound, false},         Move{Phase::bind, released, Phase::none, false},
    Move{Phase::bind, rejected, Phase::none, false},       Move{Phase::bind, stale, Phase::none, false},
    Move{Phase::bind, hello, Phase::none, false},          Move{Phase::bind, forget, Phase::none, false},
    Move{Phase::bind, remove, Phase::release, false},      Move{Phase::bound, released, Phase::none, false},
    Move{Phase::bound, stale, Phase::none, false},         Move{Phase::bound, hello, Phase::none, false},
    Move{Phase::bound, forget, Phase::none, false},        Move{Phase::bound, remove, Phase::release, false},
    Move{Phase::bound, finished, Phase::release, false},   Move{Phase::release, released, Phase::none, false},
    Move{Phase::release, rejected, Phase::none, false},    Move{Phase::release, stale, Phase::none, false},
    Move{Phase::release, hello, Phase::none, false},       Move{Phase::release, forget, Phase::none, false},
};

// The common part of a row and a release-list entry: a placement that ends only when proven over.
struct Placement {
  std::string_view uid;
  const Epoch& epoch;
  std::string_view node;
  std::string_view incarnation;
};

// Checks the guards of P5 and of P3's Hello, and returns the event that the answer is for this placement.
std::optional<RowEvent> read_guarded(const Placement& mine, const Answer& answer, std::string_view own_store_id) {
  if (answer.node != mine.node || answer.uid != mine.uid || answer.epoch != mine.epoch) return std::nullopt;
  if (answer.gateway_id.store_id != own_store_id) return std::nullopt;
  if (answer.type == AnswerType::hello) {
    const bool is_another = answer.to_incarnation == mine.incarnation && answer.incarnation != mine.incarnation;
    return is_another ? std::optional(hello) : std::nullopt;
  }
  if (answer.incarnation != mine.incarnation) return std::nullopt;
  switch (answer.type) {
    case AnswerType::pre_bound: return pre_bound;
    case AnswerType::bound: return bound;
    case AnswerType::released: return released;
    case AnswerType::rejected: return rejected;
    case AnswerType::stale: return answer.high >= mine.epoch ? std::optional(stale) : std::nullopt;
    case AnswerType::superseded:  // never changes a row: the gateway raises its term and resends
    case AnswerType::hello:
    case AnswerType::slots:
    case AnswerType::kept:
    case AnswerType::renew:
    case AnswerType::volume_deleted:
    case AnswerType::lacks: return std::nullopt;  // the row stays as it is, and asks again
  }
  return std::nullopt;
}

// The first byte of a stored row: kPacked; then uid and pod, the epoch's term and counter, node, incarnation, promise,
// and the volumes; in a row that makes some, each with class and bytes behind it (0: it is there). Anything else is
// JSON written by an earlier version.
constexpr char kPacked = 1;
constexpr char kPackedMaking = 2;

bool makes_volumes(const Row& row) {
  return std::any_of(row.volumes.begin(), row.volumes.end(), [](const BoundVolume& each) { return each.make; });
}

void read_make(ByteReader& in, BoundVolume& volume) {
  VolumeToMake make{std::string(in.text()), in.integer()};
  if (make.bytes > 0) volume.make = std::move(make);
}

Result<Row> unpack_row(std::string_view packed, bool makes) {
  ByteReader in(packed);
  Row row;
  ByteReader::UuidText uuid{};
  row.uid = in.id(uuid);
  row.pod = in.text();
  row.epoch.term = in.number();
  row.epoch.counter = in.number();
  row.node = Text::common(in.text());
  row.incarnation = Text::common(in.id(uuid));
  const Millis promise_ms = in.integer();
  std::vector<BoundVolume> volumes;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    BoundVolume& each = volumes.emplace_back();
    for (std::string* text : {&each.claim, &each.volume, &each.path}) *text = in.text();
    if (makes) read_make(in, each);
  }
  row.volumes = std::move(volumes);
  if (!in.ok() || !in.at_end()) return Status::error("truncated, or longer than a row");
  if (!is_valid_id(row.uid)) return Status::error("uid: must be 1 to 128 letters, digits, '.', '_' or '-'");
  if (!is_valid_id(row.incarnation))
    return Status::error("incarnation: must be 1 to 128 letters, digits, '.', '_' or '-'");
  if (!is_valid_name(row.node)) return Status::error("node: must be a name: lower-case letters, digits, '.' and '-'");
  if (row.pod.empty()) return Status::error("pod: must not be empty");
  if (promise_ms < 0 || promise_ms > kYearMs) return Status::error("promise: must be at most one year");
  row.promise_ms = promise_ms;
  return row;
}

Result<Row> decode_row_of_json(std::string_view value) {
  const Result<Json> json = Json::parse(value, kRecordLimits);
  if (!json) return json.error();
  Fields fields(*json);
  Row row;
  row.uid = fields.id("uid");
  row.pod = fields.text("pod");
  row.epoch = fields.epoch("epoch");
  row.node = fields.name("node");
  row.incarnation = fields.id("incarnation");
  row.promise_ms = fields.millis("promiseMs");
  row.volumes = fields.volumes("volumes");
  if (!fields.ok()) return fields.status();
  return row;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::none: return "none";
    case Phase::prebind: return "prebind";
    case Phase::bind: return "bind";
    case Phase::bound: return "bound";
    case Phase::release: return "release";
  }
  CHECK(false);
}

std::string_view to_string(RowEvent event) {
  switch (event) {
    case begin: return "begin";
    case pre_bound: return "pre_bound";
    case bound: return "bound";
    case released: return "released";
    case rejected: return "rejected";
    case stale: return "stale";
    case hello: return "hello";
    case forget: return "forget";
    case leave: return "leave";
    case remove: return "remove";
    case found_running: return "found_running";
    case found_ending: return "found_ending";
    case finished: return "finished";
  }
  CHECK(false);
}

std::optional<Move> find_move(Phase from, RowEvent event) {
  for (const Move& move : kMoves) {
    if (move.from == from && move.event == event) return move;
  }
  return std::nullopt;
}

Move apply(Row& row, RowEvent event) {
  const std::optional<Move> move = find_move(row.phase, event);
  CHECK(move.has_value());
  row.phase = move->to;
  return *move;
}

std::optional<RowEvent> read_answer(const Row& row, const Answer& answer, std::string_view own_store_id,
                                    bool promise_passed) {
  std::optional<RowEvent> event = read_guarded({row.uid, row.epoch, row.node, row.incarnation}, answer, own_store_id);
  if (!event) return std::nullopt;
  // P2: after the promise limit the node may have dropped the slot; the epoch is given up rather than bound.
  if (*event == pre_bound && promise_passed) event = leave;
  return find_move(row.phase, *event) ? event : std::nullopt;
}

bool ends_entry(const ReleaseEntry& entry, const Answer& answer, std::string_view own_store_id) {
  const auto event = read_guarded({entry.uid, entry.epoch, entry.node, entry.incarnation}, answer, own_store_id);
  return event == released || event == rejected || event == stale || event == hello;
}

std::string encode(const Row& row) {
  ByteWriter out;
  const bool makes = makes_volumes(row);
  out.byte(makes ? kPackedMaking : kPacked);
  out.id(row.uid);
  out.text(row.pod);
  out.number(row.epoch.term);
  out.number(row.epoch.counter);
  out.text(row.node);
  out.id(row.incarnation);
  out.integer(row.promise_ms);
  out.number(row.volumes.size());
  for (const BoundVolume& each : row.volumes) {
    for (const std::string* text : {&each.claim, &each.volume, &each.path}) out.text(*text);
    if (!makes) continue;
    const VolumeToMake make = each.make.value_or(VolumeToMake{});
    out.text(make.storage_class);
    out.integer(make.bytes);
  }
  return out.take();
}

Result<Row> decode_row(std::string_view value, int phase) {
  if (phase < static_cast<int>(Phase::prebind) || phase > static_cast<int>(Phase::release)) {
    return Status::error("phase: must be prebind (1), bind (2), bound (3) or release (4), got " +
                         std::to_string(phase));
  }
  const bool is_packed = value.starts_with(kPacked) || value.starts_with(kPackedMaking);
  Result<Row> row =
      is_packed ? unpack_row(value.substr(1), value.starts_with(kPackedMaking)) : decode_row_of_json(value);
  if (row) row->phase = static_cast<Phase>(phase);
  return row;
}

std::string encode(const ReleaseEntry& entry) {
  Json json = Json::object();
  json.set("node", entry.node);
  json.set("incarnation", entry.incarnation);
  json.set("uid", entry.uid);
  json.set("epoch", to_text(entry.epoch));
  if (!entry.volumes.empty()) json.set("volumes", to_json(entry.volumes));
  if (!entry.pod.empty()) json.set("pod", entry.pod);
  if (entry.holds_name) json.set("holdsName", true);
  if (!entry.made.empty()) {
    Json made = Json::array();
    for (const std::string& volume : entry.made) made.push_back(volume);
    json.set("made", std::move(made));
  }
  std::string text = json.dump();
  if (!entry.charge.empty()) append_member(text, "charge", entry.charge);
  return text;
}

Result<ReleaseEntry> decode_release_entry(std::string_view value) {
  const Result<Json> json = Json::parse(value, kRecordLimits);
  if (!json) return json.error();
  Fields fields(*json);
  ReleaseEntry entry;
  entry.node = fields.name("node");
  entry.incarnation = fields.id("incarnation");
  entry.uid = fields.id("uid");
  entry.epoch = fields.epoch("epoch");
  if (fields.has("charge")) entry.charge = fields.object_text("charge");
  entry.volumes = fields.volumes("volumes");
  if (const Json* pod = json->find("pod"); pod != nullptr && pod->is_string()) entry.pod = pod->as_string();
  entry.holds_name = json->find("holdsName") != nullptr;
  if (json->find("made") != nullptr) {
    for (const Json& volume : fields.array("made")) {
      if (volume.is_string()) entry.made.push_back(volume.as_string());
    }
  }
  if (!fields.ok()) return fields.status();
  return entry;
}

}  // namespace berth
