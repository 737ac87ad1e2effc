#include "core/controllers/cron_job/cron_field.h"

#include <algorithm>
#include <charconv>
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

// A decimal number as Go's strconv.Atoi reads it, with a sign and leading zeros; not a negative one.
Result<std::int64_t> parse_number(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string shown(text);
  if (error == std::errc::result_out_of_range) {
    return Status::error("failed to parse int from " + shown + ": strconv.Atoi: parsing \"" + shown +
                         "\": value out of range");
  }
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Status::error("failed to parse int from " + shown + ": strconv.Atoi: parsing \"" + shown +
                         "\": invalid syntax");
  }
  if (value < 0) return Status::error("negative number (" + std::to_string(value) + ") not allowed: " + shown);
  return value;
}

Result<std::int64_t> parse_number_or_name(std::string_view text, const CronBounds& bounds) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto name = std::find(bounds.names.begin(), bounds.names.end(), lower);
  if (name == bounds.names.end()) return parse_number(text);
  return bounds.min + (name - bounds.names.begin());
}

struct CronRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
  bool is_any = false;
  bool is_single = false;  // neither "a-b" nor "*-b"
};

// What is before the slash.
Status read_range(std::string_view text, std::string_view element, const CronBounds& bounds, CronRange& range) {
  const std::vector<std::string_view> ends = split(text, '-');
  range.is_single = ends.size() == 1;
  if (ends[0] == "*" || ends[0] == "?") {
    range = {.begin = bounds.min, .end = bounds.max, .is_any = true, .is_single = range.is_single};
    return Status::ok();
  }
  const Result<std::int64_t> begin = parse_number_or_name(ends.front(), bounds);
  if (!begin) return begin.error();
  if (ends.size() > 2) return Status::error("too many hyphens: " + std::string(element));
  const Result<std::int64_t> end = parse_number_or_name(ends.back(), bounds);
  if (!end) return end.error();
  range.begin = *begin;
  range.end = *end;
  return Status::ok();
}

// The steps, and whether all of it is within the bounds.
Status read_element(std::string_view text, const CronBounds& bounds, CronRange& range) {
  const std::vector<std::string_view> parts = split(text, '/');
  Status read = read_range(parts[0], text, bounds, range);
  if (!read.is_success()) return read;
  const std::string shown = ": " + std::string(text);
  if (parts.size() > 2) return Status::error("too many slashes" + shown);
  if (parts.size() == 2) {
    const Result<std::int64_t> step = parse_number(parts[1]);
    if (!step) return step.error();
    range.step = *step;
    if (range.is_single) range.end = bounds.max;
    if (range.step > 1) range.is_any = false;
  }
  const auto in_words = [](std::int64_t value) { return "(" + std::to_string(value) + ")"; };
  const std::string begin = "beginning of range " + in_words(range.begin);
  const std::string end = "end of range " + in_words(range.end);
  if (range.begin < bounds.min) return Status::error(begin + " below minimum " + in_words(bounds.min) + shown);
  if (range.end > bounds.max) return Status::error(end + " above maximum " + in_words(bounds.max) + shown);
  if (range.begin > range.end) return Status::error(begin + " beyond " + end + shown);
  if (range.step == 0) return Status::error("step of range should be a positive number" + shown);
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
