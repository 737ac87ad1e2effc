#include "core/api/names.h"

#include <algorithm>

namespace berth {
namespace {

bool is_lower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

// 1..size_max characters, `end` at both ends, `end` or one of `between` inside.
bool has_form(std::string_view text, std::size_t size_max, bool (*end)(char), std::string_view between) {
  if (text.empty() || text.size() > size_max || !end(text.front()) || !end(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return end(c) || between.find(c) != std::string_view::npos; });
}

bool is_label_name(std::string_view text) { return has_form(text, 63, is_alphanumeric, "-_."); }

// Lower-case labels joined by dots, at most 253 characters.
bool is_dns_name(std::string_view text) {
  if (!has_form(text, 253, is_lower, "-.")) return false;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
    if (!is_lower(text[dot - 1]) || !is_lower(text[dot + 1])) return false;
  }
  return true;
}

}  // namespace

bool is_valid_name(std::string_view name) { return has_form(name, 253, is_lower, "-."); }

bool is_label_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_label_name(text);
  return is_dns_name(text.substr(0, slash)) && is_label_name(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) { return text.empty() || is_label_name(text); }

bool is_dns_label(std::string_view text) { return has_form(text, 63, is_lower, "-"); }

bool is_uid(std::string_view text) { return has_form(text, 128, is_alphanumeric, "-_."); }

}  // namespace berth
