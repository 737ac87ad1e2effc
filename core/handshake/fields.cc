#include "core/handshake/fields.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/api/names.h"

namespace berth {

namespace {

constexpr bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// By character: whether an id may have it. A start checks two ids of each row.
using Allowed = std::array<bool, 256>;
constexpr Allowed make_allowed() {
  Allowed allowed{};
  for (std::size_t byte = 0; byte < allowed.size(); ++byte) {
    const char c = static_cast<char>(byte);
    allowed[byte] = is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
  }
  return allowed;
}
constexpr Allowed kInId = make_allowed();

}  // namespace

bool is_valid_id(std::string_view text) {
  if (text.empty() || text.size() > 128) return false;
  if (!is_letter_or_digit(text.front()) || !is_letter_or_digit(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return kInId[static_cast<std::uint8_t>(c)]; });
}

Fields::Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
  if (json_.is_object()) return;
  std::string reason = path_.empty() ? "payload" : path_.substr(0, path_.size() - 1);
  status_ = Status::error(reason + ": must be an object");
}

Fields::Fields(const Json& list, const Json& item, std::size_t index)
    : Fields(item, "items[" + std::to_string(index) + "].") {
  shared_ = &list;
}

const Json* Fields::find(std::string_view key) const {
  const Json* own = json_.find(key);
  return own != nullptr || shared_ == nullptr ? own : shared_->find(key);
}

void Fields::fail(std::string_view key, std::string_view what) {
  if (!ok()) return;
  std::string reason = path_;
  status_ = Status::error(reason.append(key).append(": ").append(what));
}

const Json* Fields::require(std::string_view key, Json::Type type, std::string_view what) {
  if (!ok()) return nullptr;
  const Json* found = find(key);
  if (found != nullptr && found->type() == type) return found;
  std::string reason = found == nullptr ? "is missing; must be " : "must be ";
  fail(key, reason.append(what));
  return nullptr;
}

std::string Fields::text(std::string_view key) {
  const Json* found = require(key, Json::Type::string, "a string");
  if (found == nullptr) return {};
  if (found->as_string().empty()) fail(key, "must not be empty");
  return found->as_string();
}

std::string Fields::id(std::string_view key) {
  std::string value = text(key);
  if (ok() && !is_valid_id(value)) fail(key, "must be 1 to 128 letters, digits, '.', '_' or '-'");
  return value;
}

std::string Fields::name(std::string_view key) {
  std::string value = text(key);
  if (ok() && !is_valid_name(value)) fail(key, "must be a name: lower-case letters, digits, '.' and '-'");
  return value;
}

Epoch Fields::epoch(std::string_view key) {
  const Json* found = require(key, Json::Type::string, "an epoch, \"<term>.<counter>\"");
  if (found == nullptr) return {};
  const Result<Epoch> epoch = parse_epoch(found->as_string());
  if (!epoch) {
    fail(key, epoch.error().message());
    return {};
  }
  return *epoch;
}

std::uint64_t Fields::u64(std::string_view key) {
  const Json* found = require(key, Json::Type::string, "a number as a string of digits");
  if (found == nullptr) return 0;
  const auto value = parse_u64(found->as_string());
  if (!value) fail(key, "must be a string of digits below 2^64");
  return value.value_or(0);
}

Millis Fields::millis(std::string_view key) {
  const std::uint64_t value = u64(key);
  if (value <= static_cast<std::uint64_t>(kYearMs)) return static_cast<Millis>(value);
  fail(key, "must be at most one year in milliseconds");
  return 0;
}

std::uint32_t Fields::u32(std::string_view key) {
  const Json* found = require(key, Json::Type::number, "a number");
  if (found == nullptr) return 0;
  if (found->is_integer() && found->as_int() >= 0 && found->as_int() <= std::numeric_limits<std::uint32_t>::max()) {
    return static_cast<std::uint32_t>(found->as_int());
  }
  fail(key, "must be a whole number from 0 to 4294967295");
  return 0;
}

std::string Fields::object_text(std::string_view key) {
  const Json* found = require(key, Json::Type::object, "an object");
  return found == nullptr ? std::string{} : found->dump();
}

const Json::Array& Fields::array(std::string_view key) {
  static const Json::Array kNone;
  const Json* found = require(key, Json::Type::array, "an array");
  return found == nullptr ? kNone : found->as_array();
}

Fields Fields::element(std::string_view key, const Json& value, std::size_t index) const {
  std::string path = path_;
  return Fields(value, path.append(key).append("[").append(std::to_string(index)).append("]."));
}

void Fields::merge(const Fields& inner) {
  if (ok()) status_ = inner.status();
}

// Whoever names such a volume names a directory below a pool.
VolumeToMake Fields::read_make(Fields& volume) {
  Fields make(*volume.find("make"), volume.path_ + "make.");
  VolumeToMake read{make.name("class"), 0};
  const std::uint64_t bytes = make.u64("bytes");
  if (make.ok() && (bytes == 0 || bytes > kMaxVolumeBytes)) make.fail("bytes", "must be more than 0, and below 2^62");
  read.bytes = static_cast<std::int64_t>(bytes);
  volume.merge(make);
  return read;
}

std::vector<BoundVolume> Fields::volumes(std::string_view key) {
  std::vector<BoundVolume> volumes;
  if (!has(key)) return volumes;
  const Json::Array& values = array(key);
  for (std::size_t index = 0; index < values.size() && ok(); ++index) {
    Fields item = element(key, values[index], index);
    BoundVolume& volume = volumes.emplace_back();
    volume = {item.text("claim"), item.text("volume"), item.text("path")};
    if (item.has("make")) volume.make = read_make(item);
    merge(item);
  }
  return volumes;
}

std::vector<ObeyedGateway> Fields::obeyed(std::string_view key) {
  std::vector<ObeyedGateway> gateways;
  if (!has(key)) return gateways;
  const Json::Array& values = array(key);
  if (values.size() > ObeyedGateway::kMax) fail(key, "has too many items");
  for (std::size_t index = 0; index < values.size() && ok(); ++index) {
    Fields item = element(key, values[index], index);
    gateways.push_back({item.id("storeId"), item.id("proof")});
    merge(item);
  }
  return gateways;
}

ProtocolVersion Fields::protocol() {
  const Result<ProtocolVersion> version = read_protocol(find("protocol"));
  if (version) return *version;
  if (ok()) status_ = Status::error(path_ + version.error().message());
  return {};
}

Json to_json(const std::vector<BoundVolume>& volumes) {
  Json::Array values;
  for (const BoundVolume& bound : volumes) {
    Json value = Json::object();
    value.set("claim", bound.claim);
    value.set("volume", bound.volume);
    value.set("path", bound.path);
    if (bound.make) {
      Json make = Json::object();
      make.set("class", bound.make->storage_class);
      make.set("bytes", std::to_string(bound.make->bytes));
      value.set("make", std::move(make));
    }
    values.push_back(std::move(value));
  }
  return values;
}

Json to_json(const std::vector<ObeyedGateway>& gateways) {
  Json::Array values;
  for (const ObeyedGateway& gateway : gateways) {
    Json value = Json::object();
    value.set("storeId", gateway.store_id);
    value.set("proof", gateway.proof);
    values.push_back(std::move(value));
  }
  return values;
}

void append_member(std::string& object, std::string_view key, std::string_view text) {
  object.pop_back();
  object.append(object.size() > 1 ? ",\"" : "\"").append(key).append("\":").append(text).append("}");
}

}  // namespace berth
