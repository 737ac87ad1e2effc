#include "core/controllers/cron_field.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace berth {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// A decimal number as Go's strconv.Atoi reads it: with a sign and leading zeros. Negative ones are none.
std::optional<std::int64_t> parse_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_number_or_name(std::string_view text, const CronBounds& bounds) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto name = std::find(bounds.names.begin(), bounds.names.end(), lower);
  return name == bounds.names.end() ? parse_number(text) : bounds.min + (name - bounds.names.begin());
}

struct CronRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
  bool is_any = false;
  bool is_single = false;  // neither "a-b" nor "*-b"
};

Status fault(std::string_view what, std::string_view element) {
  return Status::error(std::string(what) + ": " + std::string(element));
}

// What is before the slash.
Status read_range(std::string_view text, const CronBounds& bounds, CronRange& range) {
  const std::vector<std::string_view> ends = split(text, '-');
  range.is_single = ends.size() == 1;
  if (ends[0] == "*" || ends[0] == "?") {
    range = {.begin = bounds.min, .end = bounds.max, .is_any = true, .is_single = range.is_single};
    return Status::ok();
  }
  if (ends.size() > 2) return fault("too many hyphens", text);
  const std::optional<std::int64_t> begin = parse_number_or_name(ends.front(), bounds);
  const std::optional<std::int64_t> end = parse_number_or_name(ends.back(), bounds);
  if (!begin || !end) return fault("not a number", text);
  range.begin = *begin;
  range.end = *end;
  return Status::ok();
}

Status read_element(std::string_view text, const CronBounds& bounds, CronRange& range) {
  const std::vector<std::string_view> parts = split(text, '/');
  Status read = read_range(parts[0], bounds, range);
  if (!read.is_success()) return read;
  if (parts.size() > 2) return fault("too many slashes", text);
  if (parts.size() == 2) {
    const std::optional<std::int64_t> step = parse_number(parts[1]);
    if (!step) return fault("not a number", parts[1]);
    if (*step == 0) return fault("the step must be positive", text);
    range.step = *step;
    if (range.is_single) range.end = bounds.max;
    if (range.step > 1) range.is_any = false;
  }
  if (range.begin < bounds.min) return fault("less than the minimum of " + std::to_string(bounds.min), text);
  if (range.end > bounds.max) return fault("more than the maximum of " + std::to_string(bounds.max), text);
  if (range.begin > range.end) return fault("the range ends before it begins", text);
  return Status::ok();
}

}  // namespace

Result<CronField> parse_cron_field(std::string_view text, const CronBounds& bounds) {
  CronField field;
  for (const std::string_view element : split(text, ',')) {
    if (element.empty()) continue;
    CronRange range;
    Status read = read_element(element, bounds, range);
    if (!read.is_success()) return read;
    const std::int64_t step = std::min<std::int64_t>(range.step, bounds.max + 1);  // no overflow
    for (std::int64_t value = range.begin; value <= range.end; value += step) field.values |= std::uint64_t{1} << value;
    field.is_any = field.is_any || range.is_any;
  }
  return field;
}

}  // namespace berth
