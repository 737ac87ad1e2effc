// The text of a schedule (cron_schedule.h).
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/controllers/cron_job/cron_schedule.h"
#include "core/controllers/cron_job/go_duration.h"

namespace berth {
namespace {

using namespace std::string_view_literals;

constexpr std::array kMonths{"jan"sv, "feb"sv, "mar"sv, "apr"sv, "may"sv, "jun"sv,
                             "jul"sv, "aug"sv, "sep"sv, "oct"sv, "nov"sv, "dec"sv};
constexpr std::array kDays{"sun"sv, "mon"sv, "tue"sv, "wed"sv, "thu"sv, "fri"sv, "sat"sv};
constexpr std::size_t kFieldCount = 5;
constexpr std::array<CronBounds, kFieldCount> kBounds{
    CronBounds{.min = 0, .max = 59, .names = {}}, CronBounds{.min = 0, .max = 23, .names = {}},
    CronBounds{.min = 1, .max = 31, .names = {}}, CronBounds{.min = 1, .max = 12, .names = kMonths},
    CronBounds{.min = 0, .max = 6, .names = kDays}};

struct Descriptor {
  std::string_view name;
  std::string_view fields;
};
constexpr std::array kDescriptors{Descriptor{"@yearly", "0 0 1 1 *"},  Descriptor{"@annually", "0 0 1 1 *"},
                                  Descriptor{"@monthly", "0 0 1 * *"}, Descriptor{"@weekly", "0 0 * * 0"},
                                  Descriptor{"@daily", "0 0 * * *"},   Descriptor{"@midnight", "0 0 * * *"},
                                  Descriptor{"@hourly", "0 * * * *"}};

constexpr std::string_view kSpace = " \t\n\v\f\r";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t size = std::min(text.find_first_of(kSpace), text.size());
    found.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return found;
}

// No name, and "Local", mean UTC: a gateway's own zone plays no part, as the times of its log do not.
Result<TimeZone> named_zone(std::string_view name, const TimeZoneFiles& files) {
  if (name.empty() || name == "Local") return TimeZone();
  return load_time_zone(name, files);
}

}  // namespace

Result<CronSchedule::Calendar> CronSchedule::parse_fields(std::string_view text) {
  const std::vector<std::string_view> parts = words(text);
  if (parts.size() != kFieldCount) {
    std::string found;
    for (const std::string_view part : parts) found += (found.empty() ? "" : " ") + std::string(part);
    return Status::error("expected exactly 5 fields, found " + std::to_string(parts.size()) + ": [" + found + "]");
  }
  std::array<CronField, kFieldCount> fields;
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const Result<CronField> field = parse_cron_field(parts[i], kBounds[i]);
    if (!field) return field.error();
    fields[i] = *field;
  }
  return Calendar{.minute = fields[0],
                  .hour = fields[1],
                  .day_of_month = fields[2],
                  .month = fields[3],
                  .day_of_week = fields[4],
                  .zone = {}};
}

Result<CronSchedule> CronSchedule::parse_descriptor(std::string_view text) {
  constexpr std::string_view kEvery = "@every ";
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  if (text.starts_with(kEvery)) {
    const std::optional<std::int64_t> duration = parse_go_duration(text.substr(kEvery.size()));
    if (!duration) {
      return Status::error("failed to parse duration " + std::string(text) + ": time: invalid duration \"" +
                           std::string(text.substr(kEvery.size())) + "\"");
    }
    return CronSchedule(Interval{std::max<std::int64_t>(*duration / kNanoseconds, 1)});
  }
  for (const Descriptor& each : kDescriptors) {
    if (each.name == text) return CronSchedule(*parse_fields(each.fields));
  }
  return Status::error("unrecognized descriptor: " + std::string(text));
}

Result<CronSchedule> CronSchedule::parse(std::string_view text, const TimeZoneFiles& files) {
  if (text.empty()) return Status::error("empty spec string");
  TimeZone zone;
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ=")) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return Status::error("a time zone without a schedule: " + std::string(text));
    const std::size_t name = text.find('=') + 1;
    Result<TimeZone> found = named_zone(text.substr(name, space - name), files);
    if (!found) {
      return Status::error("provided bad location " + std::string(text.substr(name, space - name)) + ": " +
                           found.error().message());
    }
    zone = std::move(*found);
    text = trimmed(text.substr(space));
  }
  Result<CronSchedule> schedule = [&]() -> Result<CronSchedule> {
    if (text.starts_with('@')) return parse_descriptor(text);
    Result<Calendar> calendar = parse_fields(text);
    if (!calendar) return calendar.error();
    return CronSchedule(std::move(*calendar));
  }();
  if (schedule) {
    if (auto* calendar = std::get_if<Calendar>(&schedule->times_)) calendar->zone = std::move(zone);
  }
  return schedule;
}

Result<CronSchedule> CronSchedule::parse_in(std::string_view text, std::string_view zone, const TimeZoneFiles& files) {
  if (zone.empty() || has_own_zone(text) || !load_time_zone(zone, files)) return parse(text, files);
  return parse("TZ=" + std::string(zone) + " " + std::string(text), files);
}

}  // namespace berth
