#include "core/json/json.h"

#include <cjson/cJSON.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <new>
#include <optional>

#include "core/check.h"
#include "core/json/json_scan.h"
#include "core/json/utf8.h"

namespace berth {
namespace {

constexpr std::int64_t kIntegerMax = std::int64_t{1} << 53;

// Arena for cJSON's tree while a text is parsed: a few large blocks, freed together. Allocating each node separately
// took a third of the time of parsing a message.
class TreeMemory {
 public:
  TreeMemory() {
    CHECK(current == nullptr);
    current = this;
    cJSON_Hooks hooks{[](std::size_t size) { return current->take(size); }, [](void*) {}};
    cJSON_InitHooks(&hooks);
  }
  ~TreeMemory() {
    cJSON_InitHooks(nullptr);
    current = nullptr;
    while (pieces_ != nullptr) ::operator delete(std::exchange(pieces_, pieces_->next));
  }
  TreeMemory(const TreeMemory&) = delete;
  TreeMemory& operator=(const TreeMemory&) = delete;
  bool was_exhausted() const { return exhausted_; }

 private:
  static constexpr std::size_t kPiece = 16 * 1024;
  struct alignas(std::max_align_t) Piece {
    Piece* next;
  };

  // Null when out of memory: an exception must not propagate through cJSON, which is C.
  void* take(std::size_t size) {
    size = (size + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    if (size > left_) {
      const std::size_t capacity = std::max(size, kPiece);
      void* memory = ::operator new(sizeof(Piece) + capacity, std::nothrow);
      exhausted_ = exhausted_ || memory == nullptr;
      if (memory == nullptr) return nullptr;
      pieces_ = ::new (memory) Piece{pieces_};
      free_ = reinterpret_cast<std::byte*>(pieces_ + 1);
      left_ = capacity;
    }
    left_ -= size;
    return std::exchange(free_, free_ + size);
  }

  static inline TreeMemory* current = nullptr;
  alignas(std::max_align_t) std::byte first_[2048];  // enough for most messages to an agent
  std::byte* free_ = first_;
  std::size_t left_ = sizeof first_;
  Piece* pieces_ = nullptr;
  bool exhausted_ = false;
};

// The first duplicate key of an object; null if there is none. Sorts large objects, since 10,000 keys are legal.
const std::string* duplicate_key(const Json::Object& object) {
  constexpr std::size_t kFew = 16;
  if (object.size() <= kFew) {
    for (std::size_t later = 1; later < object.size(); ++later) {
      for (std::size_t before = 0; before < later; ++before) {
        if (object[before].first == object[later].first) return &object[later].first;
      }
    }
    return nullptr;
  }
  std::vector<const std::string*> keys;
  keys.reserve(object.size());
  for (const Json::Member& member : object) keys.push_back(&member.first);
  std::sort(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto twice =
      std::adjacent_find(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a == *b; });
  return twice == keys.end() ? nullptr : *twice;
}

std::size_t count_children(const cJSON* item) {
  std::size_t count = 0;
  for (const cJSON* child = item->child; child != nullptr; child = child->next) ++count;
  return count;
}

// Fills `out` from a cJSON tree, whose depth the scan has limited. On failure `error` has the reason, and a path that
// is put together while the recursion returns. Strings, the most frequent type, are constructed in place.
bool convert(const cJSON* item, Json& out, std::string& error) {
  switch (item->type & 0xFF) {
    case cJSON_False: out = Json(false); return true;
    case cJSON_True: out = Json(true); return true;
    case cJSON_NULL: out = Json(); return true;
    case cJSON_Number: out = Json(item->valuedouble); return true;
    case cJSON_String: out = Json(item->valuestring); return true;
    case cJSON_Array: {
      out = Json::array();
      Json::Array& array = out.as_array();
      array.reserve(count_children(item));
      for (const cJSON* child = item->child; child != nullptr; child = child->next) {
        if (cJSON_IsString(child)) {
          array.emplace_back(std::string_view(child->valuestring));
        } else if (!convert(child, array.emplace_back(), error)) {
          error = "[" + std::to_string(array.size() - 1) + "]" + error;
          return false;
        }
      }
      return true;
    }
    case cJSON_Object: {
      out = Json::object();
      Json::Object& object = out.as_object();
      object.reserve(count_children(item));
      for (const cJSON* child = item->child; child != nullptr; child = child->next) {
        if (cJSON_IsString(child)) {
          object.emplace_back(child->string, std::string_view(child->valuestring));
          continue;
        }
        Json::Member& member = object.emplace_back(child->string, Json());
        if (!convert(child, member.second, error)) {
          error = "." + shorten(member.first, 64) + error;
          return false;
        }
      }
      if (const std::string* key = duplicate_key(object)) {
        error = "." + shorten(*key, 64) + ": duplicate key; keep one";
        return false;
      }
      return true;
    }
    default: error = ": not a JSON value"; return false;
  }
}

// Reads an object of plain strings and truth values without white space: most messages are one, and cost a third of
// what the scan and cJSON's tree do. None: it is something else, or wrong, which only the whole parser can tell.
std::optional<Json> read_plain_object(std::string_view text) {
  std::size_t at = 0;
  const auto skip = [&](std::string_view expected) {
    if (text.substr(at, expected.size()) != expected) return false;
    at += expected.size();
    return true;
  };
  const auto read_string = [&]() -> std::optional<std::string_view> {
    if (!skip("\"")) return std::nullopt;
    const std::string_view value = text.substr(at, plain_length(text, at));
    at += value.size();
    return skip("\"") ? std::optional(value) : std::nullopt;
  };
  if (!skip("{")) return std::nullopt;
  Json::Object members;
  members.reserve(6);
  do {
    const std::optional<std::string_view> key = read_string();
    if (!key || !skip(":")) return std::nullopt;
    if (const std::optional<std::string_view> value = read_string()) {
      members.emplace_back(*key, *value);
    } else if (skip("true")) {
      members.emplace_back(*key, true);
    } else if (skip("false")) {
      members.emplace_back(*key, false);
    } else {
      return std::nullopt;
    }
  } while (skip(","));
  if (!skip("}") || at != text.size() || duplicate_key(members) != nullptr) return std::nullopt;
  return Json(std::move(members));
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out.reserve(out.size() + text.size() + 2);
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t plain = plain_length(text, at); plain > 0) {
      out.append(text, at, plain);
      at += plain;
      continue;
    }
    const char c = text[at];
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || c == '\0') {  // not valid in JSON: becomes the replacement character
      out += "\xEF\xBF\xBD";
      ++at;
      continue;
    }
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 0xF];
        } else {
          out += text.substr(at, length);
        }
    }
    at += length;
  }
  out += '"';
}

void append_number(std::string& out, const Json& value) {
  char digits[32];
  std::to_chars_result end{};
  if (value.is_integer()) {
    end = std::to_chars(digits, digits + sizeof digits, value.as_int());
  } else if (std::isfinite(value.as_double())) {
    end = std::to_chars(digits, digits + sizeof digits, value.as_double());
  } else {
    out += "null";  // JSON cannot represent it
    return;
  }
  out.append(digits, end.ptr);
}

void append(std::string& out, const Json& value) {
  switch (value.type()) {
    case Json::Type::null: out += "null"; return;
    case Json::Type::boolean: out += value.as_bool() ? "true" : "false"; return;
    case Json::Type::number: append_number(out, value); return;
    case Json::Type::string: append_quoted(out, value.as_string()); return;
    case Json::Type::array: {
      out += '[';
      bool first = true;
      for (const Json& item : value.as_array()) {
        if (!first) out += ',';
        first = false;
        append(out, item);
      }
      out += ']';
      return;
    }
    case Json::Type::object: {
      out += '{';
      bool first = true;
      for (const auto& [key, item] : value.as_object()) {
        if (!first) out += ',';
        first = false;
        append_quoted(out, key);
        out += ':';
        append(out, item);
      }
      out += '}';
      return;
    }
  }
}

}  // namespace

Json::Json(std::int64_t value) : value_(static_cast<double>(value)) {
  CHECK(value >= -kIntegerMax && value <= kIntegerMax);
}

Result<Json> Json::parse(std::string_view text, Limits limits) {
  // Of a larger one a part would be read in vain.
  constexpr std::size_t kSmall = 256;
  if (text.size() <= std::min(kSmall, limits.bytes) && limits.depth > 0) {
    if (std::optional<Json> plain = read_plain_object(text)) return std::move(*plain);
  }
  Status scanned = scan_json(text, limits);
  if (!scanned.is_success()) return scanned;
  const char* end = nullptr;
  const TreeMemory memory;
  const cJSON* tree = cJSON_ParseWithLengthOpts(text.data(), text.size(), &end, 0);
  if (memory.was_exhausted()) throw std::bad_alloc();
  const std::size_t parsed = end == nullptr ? 0 : static_cast<std::size_t>(end - text.data());
  if (tree == nullptr) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
      return Status::error("empty; expected a JSON value");
    return Status::error(json_position(text, parsed) + "not JSON; a comma, colon, bracket or value is missing here");
  }
  const std::size_t rest = text.find_first_not_of(" \t\r\n", parsed);
  if (rest != std::string_view::npos) {
    return Status::error(json_position(text, rest) + "unexpected text after the end of the JSON value");
  }
  Json value;
  std::string error;
  if (!convert(tree, value, error)) {
    return Status::error(error.starts_with('.') ? error.substr(1) : error);
  }
  return value;
}

std::string Json::dump() const {
  std::string text;
  append(text, *this);
  return text;
}

bool Json::is_integer() const {
  const double* number = std::get_if<double>(&value_);
  return number != nullptr && std::abs(*number) <= static_cast<double>(kIntegerMax) && std::trunc(*number) == *number;
}

bool Json::as_bool() const {
  CHECK(is_bool());
  return *std::get_if<bool>(&value_);
}

double Json::as_double() const {
  CHECK(is_number());
  return *std::get_if<double>(&value_);
}

std::int64_t Json::as_int() const {
  CHECK(is_integer());
  return static_cast<std::int64_t>(*std::get_if<double>(&value_));
}

const std::string& Json::as_string() const {
  CHECK(is_string());
  return *std::get_if<std::string>(&value_);
}

const Json::Array& Json::as_array() const {
  CHECK(is_array());
  return *std::get_if<Array>(&value_);
}

const Json::Object& Json::as_object() const {
  CHECK(is_object());
  return *std::get_if<Object>(&value_);
}

Json::Array& Json::as_array() { return const_cast<Array&>(std::as_const(*this).as_array()); }

Json::Object& Json::as_object() { return const_cast<Object&>(std::as_const(*this).as_object()); }

std::string Json::string_at(std::string_view key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

const Json* Json::find(std::string_view key) const {
  const Object* object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  for (const Member& member : *object) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_.emplace<Object>();
  Object& object = as_object();
  if (Json* old = find(key)) {
    *old = std::move(value);
  } else {
    object.emplace_back(std::string(key), std::move(value));
  }
  return *this;
}

void Json::erase(std::string_view key) {
  if (!is_object()) return;
  std::erase_if(as_object(), [&](const Member& member) { return member.first == key; });
}

void Json::push_back(Json value) {
  if (is_null()) value_.emplace<Array>();
  as_array().push_back(std::move(value));
}

}  // namespace berth
