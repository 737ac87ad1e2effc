// Compiled time zones for tests, written as RFC 8536 says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/api/timestamp.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

struct WrittenZone {
  std::int32_t first_offset = 0;
  std::vector<std::pair<std::int64_t, std::int32_t>> transitions;  // when, and the offset from then on
  std::string rule;                                                // the footer
};

inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}

inline std::string tzif_header(char version, std::size_t times, std::size_t types) {
  std::string text = "TZif" + std::string(1, version) + std::string(15, '\0');
  for (const std::size_t count : {std::size_t{0}, std::size_t{0}, std::size_t{0}, times, types, std::size_t{4}}) {
    text += big_endian(count, 4);
  }
  return text;
}

// Each transition has a type of its own; the first part, for old readers, has one type and no transition.
inline std::string tzif(const WrittenZone& zone) {
  const std::string type_end = big_endian(0, 2);
  std::string text = tzif_header('2', 0, 1) + big_endian(0, 4) + type_end + std::string("UTC\0", 4);
  text += tzif_header('2', zone.transitions.size(), zone.transitions.size() + 1);
  for (const auto& [at, offset] : zone.transitions) text += big_endian(static_cast<std::uint64_t>(at), 8);
  for (std::size_t i = 0; i < zone.transitions.size(); ++i) text.push_back(static_cast<char>(i + 1));
  text += big_endian(static_cast<std::uint32_t>(zone.first_offset), 4) + type_end;
  for (const auto& [at, offset] : zone.transitions) {
    text += big_endian(static_cast<std::uint32_t>(offset), 4) + type_end;
  }
  return text + std::string("abc\0", 4) + "\n" + zone.rule + "\n";
}

inline std::int64_t at_time(std::string_view text) { return parse_timestamp(text).value() / 1000; }

// Zones by their rules alone, and two that are told by transitions.
class ZoneFiles final : public TimeZoneFiles {
 public:
  std::optional<std::string> read(std::string_view name) const override {
    const auto found = files.find(std::string(name));
    return found == files.end() ? std::nullopt : std::optional(found->second);
  }
  std::map<std::string, std::string> files{
      {"Europe/Berlin", tzif({.first_offset = 3600, .transitions = {}, .rule = "CET-1CEST,M3.5.0,M10.5.0/3"})},
      {"America/New_York", tzif({.first_offset = -18'000, .transitions = {}, .rule = "EST5EDT,M3.2.0,M11.1.0"})},
      {"Australia/Sydney", tzif({.first_offset = 36'000, .transitions = {}, .rule = "AEST-10AEDT,M10.1.0,M4.1.0/3"})},
      {"Asia/Kolkata", tzif({.first_offset = 19'800, .transitions = {}, .rule = "IST-5:30"})},
      {"Asia/Beirut", tzif({.first_offset = 7200, .transitions = {}, .rule = "EET-2EEST,M3.5.0/0,M10.5.0/0"})},
      // 2018-11-04T00:00 became 01:00.
      {"America/Sao_Paulo",
       tzif({.first_offset = -10'800, .transitions = {{at_time("2018-11-04T03:00:00Z"), -7200}}, .rule = ""})},
      // The whole 30 December 2011 was skipped.
      {"Pacific/Apia",
       tzif({.first_offset = -36'000, .transitions = {{at_time("2011-12-30T10:00:00Z"), 50'400}}, .rule = ""})},
      {"Bad/File", "TZif"},
  };
};

}  // namespace berth
