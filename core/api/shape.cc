#include "core/api/shape.h"

#include <algorithm>

namespace berth {

namespace {

// Control characters, which JSON text does not contain.
constexpr char kFirst = 1;
constexpr char kSecond = 2;
constexpr char kVerbatim = 3;  // first byte: the text follows unchanged, since it contains markers

bool is_mark(char c) { return c >= kFirst && c <= kVerbatim; }

// The position of the next marker from `at` on, or the end of the text.
std::size_t find_mark(std::string_view text, std::size_t at = 0) {
  return static_cast<std::size_t>(std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_mark) -
                                  text.begin());
}

void replace_all(std::string& text, std::string_view from, char to) {
  if (from.empty()) return;
  std::size_t kept = 0;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != std::string::npos; at = found + from.size()) {
    if (kept != at) text.replace(kept, found - at, text, at, found - at);
    kept += found - at;
    text[kept++] = to;
  }
  text.erase(kept, at - kept);
}

}  // namespace

std::string shape_of(std::string_view text, std::string_view first, std::string_view second) {
  std::string shape(text);
  const auto has_marks = [](std::string_view each) { return find_mark(each) < each.size(); };
  if (has_marks(text) || has_marks(first) || has_marks(second)) {
    shape.insert(shape.begin(), kVerbatim);
    return shape;
  }
  replace_all(shape, first, kFirst);
  replace_all(shape, second, kSecond);
  return shape;
}

std::string fill_shape(std::string_view shape, std::string_view first, std::string_view second) {
  if (shape.starts_with(kVerbatim)) return std::string(shape.substr(1));
  std::string text;
  text.reserve(shape.size() + 2 * (first.size() + second.size()));
  for (std::size_t at = 0; at < shape.size();) {
    const std::size_t mark = find_mark(shape, at);
    text.append(shape, at, mark - at);
    if (mark < shape.size()) text += shape[mark] == kFirst ? first : second;
    at = mark + 1;
  }
  return text;
}

}  // namespace berth
