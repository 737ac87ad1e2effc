#include "core/json/json_scan.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>

#include "core/ascii.h"
#include "core/json/utf8.h"

namespace berth {
namespace {

constexpr std::size_t kNumberLengthMax = 63;  // cJSON copies a number into 64 bytes
constexpr double kIntegerLimit = 9007199254740992.0;
constexpr std::string_view kIntegerLimitText = "9007199254740992";

// The value of four hexadecimal digits, or -1.
int hex4(std::string_view digits) {
  if (digits.size() < 4) return -1;
  const std::string_view four = digits.substr(0, 4);
  int value = 0;
  const auto [end, error] = std::from_chars(four.data(), four.data() + four.size(), value, 16);
  return error == std::errc{} && end == four.data() + four.size() && four[0] != '-' ? value : -1;
}

// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_json_number(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - start;
  };
  if (at < text.size() && text[at] == '-') ++at;
  const std::size_t first = at;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

class Scanner {
 public:
  Scanner(std::string_view text, const Json::Limits& limits) : text_(text), limits_(limits) {}

  Status run() {
    bool ok = !text_.starts_with("\xEF\xBB\xBF") || fail(0, "starts with a byte order mark; save it without one");
    while (ok && at_ < text_.size()) ok = token();
    return std::move(status_);
  }

 private:
  bool fail(std::size_t at, std::string_view what) {
    status_ = Status::error(json_position(text_, at) + std::string(what));
    return false;
  }

  bool token() {
    const char c = text_[at_];
    if (c == '"') return string();
    if (c == '-' || is_digit(c)) return number();
    if (c == 't') return literal("true");
    if (c == 'f') return literal("false");
    if (c == 'n') return literal("null");
    if (c == '{' || c == '[') {
      if (++depth_ > limits_.depth) {
        return fail(at_, "nested deeper than " + std::to_string(limits_.depth) + " levels");
      }
    } else if (c == '}' || c == ']') {
      --depth_;  // cJSON detects an extra one
    } else if (!(c == ',' || c == ':' || c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      return fail(at_, "unexpected character; is a string missing its quotes?");
    }
    ++at_;
    return true;
  }

  bool literal(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return fail(at_, "not a JSON value; strings need quotes");
    at_ += expected.size();
    return true;
  }

  bool number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || std::isalpha(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '.' || text_[at_] == '+' || text_[at_] == '-')) {
      ++at_;
    }
    const std::string_view digits = text_.substr(start, at_ - start);
    if (!is_json_number(digits)) {
      return fail(start, "\"" + shorten(digits, 32) + "\" is not a JSON number; write it in decimal, or as a string");
    }
    if (digits.size() > kNumberLengthMax)
      return fail(start, "a number of more than 63 characters; write it as a string");
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool negative_exponent = digits.find("e-") != digits.npos || digits.find("E-") != digits.npos;
    const bool too_small = error == std::errc::result_out_of_range && negative_exponent;  // 1e-400: zero
    const std::string_view magnitude = digits.starts_with('-') ? digits.substr(1) : digits;
    const bool exact = std::abs(value) < kIntegerLimit || magnitude == kIntegerLimitText;
    if ((error != std::errc{} && !too_small) || !exact) {
      return fail(start, "the number " + std::string(digits) +
                             " is beyond 2^53 and would lose digits; write it as a string, in quotes");
    }
    return true;
  }

  bool string() {
    const std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (const std::size_t plain = plain_length(text_, at_); plain > 0) {
        at_ += plain;
        continue;
      }
      if (text_[at_] == '\\') {
        if (!escape()) return false;
        continue;
      }
      if (static_cast<unsigned char>(text_[at_]) < 0x20) {
        return fail(at_, "a control character in a string; write it as an escape such as \\n or \\t");
      }
      const std::size_t length = utf8_length(text_, at_);
      if (length == 0) return fail(at_, "not valid UTF-8");
      at_ += length;
    }
    if (at_ >= text_.size()) return fail(start, "string without a closing quote");
    ++at_;
    return true;
  }

  bool escape() {
    if (text_.size() - at_ < 2) return fail(at_, "string without a closing quote");
    if (text_[at_ + 1] != 'u') {
      if (std::string_view("\"\\/bfnrt").find(text_[at_ + 1]) == std::string_view::npos) {
        return fail(at_, "invalid escape sequence; write a backslash as \\\\");
      }
      at_ += 2;
      return true;
    }
    const int unit = hex4(text_.substr(at_ + 2));
    if (unit < 0) return fail(at_, "\\u needs four hexadecimal digits");
    if (unit == 0) return fail(at_, "the character NUL (\\u0000) is not allowed in a string");
    std::size_t length = 6;
    if (unit >= 0xD800 && unit <= 0xDFFF) {  // must be a surrogate pair
      const bool low_follows = text_.substr(at_ + 6, 2) == "\\u";
      const int low = low_follows ? hex4(text_.substr(at_ + 8)) : -1;
      if (unit >= 0xDC00 || low < 0xDC00 || low > 0xDFFF) return fail(at_, "unpaired surrogate");
      length = 12;
    }
    at_ += length;
    return true;
  }

  std::string_view text_;
  const Json::Limits& limits_;
  Status status_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::size_t plain_length(std::string_view text, std::size_t at) {
  // Eight bytes at a time: a byte below 0x20, or equal to a stop character, borrows into its highest bit.
  constexpr std::uint64_t kOnes = ~std::uint64_t{0} / 0xFF, kHigh = kOnes * 0x80;
  std::size_t end = at;
  for (std::uint64_t chunk = 0; text.size() - end >= sizeof chunk; end += sizeof chunk) {
    std::memcpy(&chunk, text.data() + end, sizeof chunk);
    const std::uint64_t quote = chunk ^ (kOnes * '"'), backslash = chunk ^ (kOnes * '\\');
    const std::uint64_t stops = ((chunk - kOnes * 0x20) | (quote - kOnes) | (backslash - kOnes) | chunk) & kHigh;
    if (stops == 0) continue;
    if constexpr (std::endian::native != std::endian::little) break;
    return end - at + static_cast<std::size_t>(std::countr_zero(stops)) / 8;  // a borrow affects later bytes only
  }
  for (; end < text.size(); ++end) {
    const auto byte = static_cast<unsigned char>(text[end]);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') break;
  }
  return end - at;
}

std::string json_position(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(line) + " column " + std::to_string(before.size() - line_start + 1) + ": ";
}

Status scan_json(std::string_view text, const Json::Limits& limits) {
  if (text.size() > limits.bytes) {
    return Status::error(std::to_string(text.size()) + " bytes of JSON, the limit is " + std::to_string(limits.bytes));
  }
  return Scanner(text, limits).run();
}

}  // namespace berth
