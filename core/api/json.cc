#include "core/api/json.h"

#include <cjson/cJSON.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/check.h"

namespace berth {

namespace {

constexpr double kMaxExact = 9007199254740992.0;  // 2^53

// Walks the text once before cJSON sees it, for what cJSON lets pass: depth, numbers that are not JSON, raw control
// characters, NUL, invalid UTF-8.
class Prescan {
 public:
  Prescan(std::string_view text, int max_depth) : text_(text), max_depth_(max_depth) {}

  Status run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      Status status;
      if (c == '"') {
        status = string();
      } else if (c == '-' || (c >= '0' && c <= '9')) {
        status = number();
      } else {
        if (c == '[' || c == '{') {
          if (++depth_ > max_depth_) return fail("nested deeper than " + std::to_string(max_depth_) + " levels");
        } else if (c == ']' || c == '}') {
          --depth_;
        } else if (static_cast<unsigned char>(c) < 0x20 && c != ' ' && c != '\t' && c != '\n' && c != '\r') {
          return fail("control character outside of a string");
        }
        ++at_;
      }
      if (!status.is_success()) return status;
    }
    return Status::ok();
  }

 private:
  Status fail(const std::string& what) const {
    return Status::error("JSON at byte " + std::to_string(at_) + ": " + what);
  }

  Status string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20) return fail("raw control character in a string; escape it");
      if (c == '\\') {
        if (text_.substr(at_, 6) == "\\u0000") return fail("NUL in a string");
        at_ += 2;
      } else if (c < 0x80) {
        ++at_;
      } else if (const std::size_t length = utf8_length(); length > 0) {
        at_ += length;
      } else {
        return fail("invalid UTF-8");
      }
    }
    if (at_ >= text_.size()) return fail("string without end");
    ++at_;
    return Status::ok();
  }

  // Length of the well-formed sequence at at_ (Unicode 15, table 3-7), 0 when there is none.
  std::size_t utf8_length() const {
    auto byte = [this](std::size_t offset) {
      return at_ + offset < text_.size() ? static_cast<unsigned char>(text_[at_ + offset]) : 0u;
    };
    auto follows = [&](std::size_t offset, unsigned low = 0x80, unsigned high = 0xbf) {
      return byte(offset) >= low && byte(offset) <= high;
    };
    const unsigned lead = byte(0);
    if (lead >= 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
      const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
      const unsigned high = lead == 0xed ? 0x9f : 0xbf;
      return follows(1, low, high) && follows(2) ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
      const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
      const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
      return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
  }

  bool digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > start;
  }

  // RFC 8259 section 6.
  Status number() {
    const std::size_t start = at_;
    if (text_[at_] == '-') ++at_;
    const bool zero = at_ < text_.size() && text_[at_] == '0';
    const std::size_t first = at_;
    if (!digits() || (zero && at_ - first > 1)) return fail("not a JSON number");
    bool integer = true;
    if (at_ < text_.size() && text_[at_] == '.') {
      integer = false;
      ++at_;
      if (!digits()) return fail("not a JSON number");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      integer = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return fail("not a JSON number");
    }
    const std::string_view token = text_.substr(start, at_ - start);
    double value = 0;
    const auto read = std::from_chars(token.data(), token.data() + token.size(), value);
    if (read.ec != std::errc() || !std::isfinite(value)) return fail("number out of range");
    if (integer && std::abs(value) >= kMaxExact && token != "9007199254740992" && token != "-9007199254740992") {
      return fail("integer beyond 2^53 would lose digits; write it as a string");
    }
    if (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0)) {
      return fail("not a JSON number");
    }
    return Status::ok();
  }

  std::string_view text_;
  int max_depth_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Status check_unique(const Json::Object& object) {
  std::vector<std::string_view> keys;
  keys.reserve(object.size());
  for (const auto& [key, value] : object) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return Status::ok();
  return Status::error("JSON: key \"" + std::string(*twice) + "\" stands twice in one object");
}

Status convert(const cJSON* item, Json& out) {
  if (cJSON_IsTrue(item) != 0 || cJSON_IsFalse(item) != 0) {
    out = Json(cJSON_IsTrue(item) != 0);
  } else if (cJSON_IsNumber(item) != 0) {
    out = Json(item->valuedouble);
  } else if (cJSON_IsString(item) != 0) {
    out = Json(item->valuestring);
  } else if (cJSON_IsArray(item) != 0) {
    Json::Array array;
    for (const cJSON* child = item->child; child != nullptr; child = child->next) {
      if (Status status = convert(child, array.emplace_back()); !status.is_success()) return status;
    }
    out = Json(std::move(array));
  } else if (cJSON_IsObject(item) != 0) {
    Json::Object object;
    for (const cJSON* child = item->child; child != nullptr; child = child->next) {
      auto& member = object.emplace_back(child->string, Json());
      if (Status status = convert(child, member.second); !status.is_success()) return status;
    }
    if (Status unique = check_unique(object); !unique.is_success()) return unique;
    out = Json(std::move(object));
  }
  return Status::ok();
}

std::string number_text(double number) {
  char buffer[32];
  const bool whole = std::abs(number) <= kMaxExact && number == std::floor(number);
  const auto end = whole ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<std::int64_t>(number))
                         : std::to_chars(buffer, buffer + sizeof buffer, number);
  return {buffer, end.ptr};
}

cJSON* build(const Json& json) {
  switch (json.type()) {
    case Json::Type::null: return cJSON_CreateNull();
    case Json::Type::boolean: return cJSON_CreateBool(json.as_bool());
    case Json::Type::number: return cJSON_CreateRaw(number_text(json.as_double()).c_str());
    case Json::Type::string: return cJSON_CreateString(json.as_string().c_str());
    case Json::Type::array: {
      cJSON* array = cJSON_CreateArray();
      for (const Json& value : json.as_array()) cJSON_AddItemToArray(array, build(value));
      return array;
    }
    case Json::Type::object: {
      cJSON* object = cJSON_CreateObject();
      for (const auto& [key, value] : json.as_object()) cJSON_AddItemToObject(object, key.c_str(), build(value));
      return object;
    }
  }
  CHECK(false);
}

}  // namespace

Json::Json(std::int64_t value) : type_(Type::number), number_(static_cast<double>(value)) {
  CHECK(std::abs(number_) <= kMaxExact);
}

Result<Json> Json::parse(std::string_view text, Limits limits) {
  if (text.size() > limits.bytes) {
    return Status::error("JSON: " + std::to_string(text.size()) + " bytes, at most " + std::to_string(limits.bytes) +
                         " are read");
  }
  if (Status scanned = Prescan(text, limits.depth).run(); !scanned.is_success()) return scanned;
  const char* end = nullptr;
  cJSON* root = cJSON_ParseWithLengthOpts(text.data(), text.size(), &end, 0);
  if (root == nullptr) {
    const std::size_t at = end == nullptr ? 0 : static_cast<std::size_t>(end - text.data());
    return Status::error("JSON at byte " + std::to_string(at) + ": not valid");
  }
  Json value;
  Status status = convert(root, value);
  cJSON_Delete(root);
  if (!status.is_success()) return status;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    return Status::error("JSON at byte " + std::to_string(end - text.data()) + ": more text after the value");
  }
  return value;
}

std::string Json::dump() const {
  cJSON* root = build(*this);
  char* text = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  CHECK(text != nullptr);
  std::string result(text);
  cJSON_free(text);
  return result;
}

bool Json::is_integer() const {
  return is_number() && std::abs(number_) <= kMaxExact && number_ == std::floor(number_);
}
bool Json::as_bool() const {
  CHECK(is_bool());
  return boolean_;
}
double Json::as_double() const {
  CHECK(is_number());
  return number_;
}
std::int64_t Json::as_int() const {
  CHECK(is_integer());
  return static_cast<std::int64_t>(number_);
}
const std::string& Json::as_string() const {
  CHECK(is_string());
  return string_;
}
const Json::Array& Json::as_array() const {
  CHECK(is_array());
  return array_;
}
const Json::Object& Json::as_object() const {
  CHECK(is_object());
  return object_;
}
Json::Array& Json::as_array() {
  CHECK(is_array());
  return array_;
}
Json::Object& Json::as_object() {
  CHECK(is_object());
  return object_;
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : object_) {
    if (name == key) return &value;
  }
  return nullptr;
}
Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) type_ = Type::object;
  CHECK(is_object());
  if (Json* known = find(key)) {
    *known = std::move(value);
  } else {
    object_.emplace_back(std::string(key), std::move(value));
  }
  return *this;
}
void Json::erase(std::string_view key) {
  std::erase_if(object_, [&](const Member& member) { return member.first == key; });
}
void Json::push_back(Json value) {
  if (is_null()) type_ = Type::array;
  CHECK(is_array());
  array_.push_back(std::move(value));
}

}  // namespace berth
