#include "core/controllers/time_zones/time_zone.h"

#include <algorithm>

#include "core/ascii.h"

namespace berth {
namespace {

bool is_name_part(std::string_view part) {
  constexpr std::size_t kMaxPart = 14;
  if (part.empty() || part.size() > kMaxPart || part == "." || part == ".." || part.starts_with('-')) return false;
  return std::all_of(part.begin(), part.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_' ||
           c == '+';
  });
}

}  // namespace

std::int32_t TimeZone::offset_at(std::int64_t utc) const {
  const auto next = std::upper_bound(transitions.begin(), transitions.end(), utc,
                                     [](std::int64_t time, const Transition& each) { return time < each.at; });
  if (next == transitions.end() && rule) return rule->offset_at(utc);
  return next == transitions.begin() ? first_offset : std::prev(next)->offset;
}

std::int64_t TimeZone::utc_of(std::int64_t wall) const {
  // The offset that would apply if the wall showed UTC is the right one, except near a transition.
  return wall - offset_at(wall - offset_at(wall));
}

bool is_time_zone_name(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find('/');
    if (!is_name_part(name.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

Result<TimeZone> load_time_zone(std::string_view name, const TimeZoneFiles& files) {
  if (name == "UTC") return TimeZone();
  const std::optional<std::string> bytes = is_time_zone_name(name) ? files.read(name) : std::nullopt;
  if (!bytes) return Status::error("unknown time zone " + std::string(name));
  Result<TimeZone> zone = parse_tzif(*bytes);
  if (!zone) return Status::error("unknown time zone " + std::string(name) + ": " + zone.error().message());
  return zone;
}

}  // namespace berth
