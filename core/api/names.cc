#include "core/api/names.h"

#include <array>
#include <cstdint>

namespace berth {
namespace {

// Kinds of characters. A start looks at those of a hundred thousand names and ids.
constexpr std::uint8_t kLower = 1;  // or a digit
constexpr std::uint8_t kAlphanumeric = 2;
constexpr std::uint8_t kDash = 4;
constexpr std::uint8_t kDot = 8;
constexpr std::uint8_t kUnderscore = 16;

constexpr std::array<std::uint8_t, 256> make_kinds() {
  std::array<std::uint8_t, 256> kinds{};
  for (char c = '0'; c <= '9'; ++c) kinds[static_cast<std::uint8_t>(c)] = kLower | kAlphanumeric;
  for (char c = 'a'; c <= 'z'; ++c) kinds[static_cast<std::uint8_t>(c)] = kLower | kAlphanumeric;
  for (char c = 'A'; c <= 'Z'; ++c) kinds[static_cast<std::uint8_t>(c)] = kAlphanumeric;
  kinds['-'] = kDash;
  kinds['.'] = kDot;
  kinds['_'] = kUnderscore;
  return kinds;
}

bool is_any(char c, std::uint8_t kinds) {
  static constexpr auto kKinds = make_kinds();
  return (kKinds[static_cast<std::uint8_t>(c)] & kinds) != 0;
}

bool is_lower(char c) { return is_any(c, kLower); }

// 1..size_max characters, `end` at both ends, `end` or one of `between` inside.
bool has_form(std::string_view text, std::size_t size_max, std::uint8_t end, std::uint8_t between) {
  if (text.empty() || text.size() > size_max || !is_any(text.front(), end) || !is_any(text.back(), end)) return false;
  for (const char c : text) {
    if (!is_any(c, end | between)) return false;
  }
  return true;
}

bool is_label_name(std::string_view text) { return has_form(text, 63, kAlphanumeric, kDash | kUnderscore | kDot); }

// Lower-case labels joined by dots, at most 253 characters.
bool is_dns_name(std::string_view text) {
  if (!has_form(text, 253, kLower, kDash | kDot)) return false;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
    if (!is_lower(text[dot - 1]) || !is_lower(text[dot + 1])) return false;
  }
  return true;
}

}  // namespace

bool is_valid_name(std::string_view name) { return has_form(name, 253, kLower, kDash | kDot); }

bool is_label_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_label_name(text);
  return is_dns_name(text.substr(0, slash)) && is_label_name(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) { return text.empty() || is_label_name(text); }

bool is_dns_label(std::string_view text) { return has_form(text, 63, kLower, kDash); }

bool is_uid(std::string_view text) { return has_form(text, 128, kAlphanumeric, kDash | kUnderscore | kDot); }

}  // namespace berth
