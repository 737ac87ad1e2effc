#include "core/controllers/time_zones/time_zone.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/controllers/zone_files.h"

namespace berth {
namespace {

TEST(TimeZone, AnOffsetAppliesFromItsTransitionOn) {
  const Result<TimeZone> zone =
      parse_tzif(tzif({.first_offset = 100, .transitions = {{1000, 200}, {2000, -300}}, .rule = ""}));
  ASSERT_TRUE(zone) << zone.error().message();
  EXPECT_EQ(zone->offset_at(std::numeric_limits<std::int64_t>::min()), 100);
  EXPECT_EQ(zone->offset_at(999), 100);
  EXPECT_EQ(zone->offset_at(1000), 200);
  EXPECT_EQ(zone->offset_at(1999), 200);
  EXPECT_EQ(zone->offset_at(2000), -300);
  EXPECT_EQ(zone->offset_at(at_time("2100-01-01T00:00:00Z")), -300);
}

TEST(TimeZone, AfterTheLastTransitionTheRuleApplies) {
  const Result<TimeZone> zone = parse_tzif(tzif({.first_offset = 0,
                                                 .transitions = {{at_time("2020-01-01T00:00:00Z"), 3600}},
                                                 .rule = "CET-1CEST,M3.5.0,M10.5.0/3"}));
  ASSERT_TRUE(zone) << zone.error().message();
  EXPECT_EQ(zone->offset_at(at_time("2019-07-01T00:00:00Z")), 0);
  EXPECT_EQ(zone->offset_at(at_time("2020-02-01T00:00:00Z")), 3600);
  EXPECT_EQ(zone->offset_at(at_time("2090-07-01T00:00:00Z")), 7200);
}

TEST(TimeZone, AWallClockTimeIsFoundAsByGo) {
  const Result<TimeZone> berlin = load_time_zone("Europe/Berlin", ZoneFiles());
  const Result<TimeZone> new_york = load_time_zone("America/New_York", ZoneFiles());
  ASSERT_TRUE(berlin && new_york);
  EXPECT_EQ(berlin->utc_of(at_time("2026-07-01T12:00:00Z")), at_time("2026-07-01T10:00:00Z"));
  // Twice: the second time east of Greenwich, the first time west of it.
  EXPECT_EQ(berlin->utc_of(at_time("2026-10-25T02:30:00Z")), at_time("2026-10-25T01:30:00Z"));
  EXPECT_EQ(new_york->utc_of(at_time("2026-11-01T01:30:00Z")), at_time("2026-11-01T05:30:00Z"));
  // Skipped: an hour later, and an hour earlier.
  EXPECT_EQ(berlin->utc_of(at_time("2026-03-29T02:30:00Z")), at_time("2026-03-29T01:30:00Z"));
  EXPECT_EQ(new_york->utc_of(at_time("2026-03-08T02:30:00Z")), at_time("2026-03-08T06:30:00Z"));
}

TEST(TimeZone, NamesThatLeadElsewhereAreRefused) {
  for (const std::string_view name :
       {"Europe/Berlin", "UTC", "Etc/GMT+5", "America/Argentina/ComodRivadavia", "EST5EDT"}) {
    EXPECT_TRUE(is_time_zone_name(name)) << name;
  }
  for (const std::string_view name :
       {"", "/etc/passwd", "../etc", "Europe/../../etc", "Europe/", "/", ".", "..", "./UTC", "Europe//Berlin", "-x",
        "Europe/-x", "Europe Berlin", "Europe\\Berlin", "Zürich", "Morethanfourteen"}) {
    EXPECT_FALSE(is_time_zone_name(name)) << name;
  }
  EXPECT_FALSE(is_time_zone_name(std::string_view("UTC\0", 4)));
}

TEST(TimeZone, ARefusedNameIsNeverRead) {
  ZoneFiles files;
  files.files["../etc"] = files.files.at("Europe/Berlin");
  files.files[""] = files.files.at("Europe/Berlin");
  EXPECT_FALSE(load_time_zone("../etc", files));
  EXPECT_FALSE(load_time_zone("", files));
}

TEST(TimeZone, AnUnknownZoneIsNamedInTheError) {
  EXPECT_EQ(load_time_zone("Nowhere/X", ZoneFiles()).error().message(), "unknown time zone Nowhere/X");
  EXPECT_EQ(load_time_zone("Bad/File", ZoneFiles()).error().message(), "unknown time zone Bad/File: not a TZif file");
}

TEST(TimeZone, UtcNeedsNoFile) {
  ZoneFiles none;
  none.files.clear();
  const Result<TimeZone> utc = load_time_zone("UTC", none);
  ASSERT_TRUE(utc);
  EXPECT_EQ(utc->offset_at(0), 0);
}

TEST(Tzif, AFileThatEndsEarlyIsRefusedWhereverItEnds) {
  const std::string whole =
      tzif({.first_offset = 0, .transitions = {{1000, 60}, {2000, 120}}, .rule = "CET-1CEST,M3.5.0,M10.5.0/3"});
  ASSERT_TRUE(parse_tzif(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_tzif(whole.substr(0, size))) << size;
}

TEST(Tzif, AnyDamagedByteIsRefusedOrReadAsATimeZone) {
  const std::string whole = tzif({.first_offset = 0, .transitions = {{1000, 60}, {2000, 120}}, .rule = "CET-1"});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int bit : {0, 1, 3, 5, 7}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const Result<TimeZone> zone = parse_tzif(damaged);
      if (zone) EXPECT_LT(std::abs(zone->offset_at(5000)), 100'000);
    }
  }
}

TEST(Tzif, SaysWhatIsWrong) {
  const auto fault = [](const std::string& bytes) {
    const Result<TimeZone> zone = parse_tzif(bytes);
    return zone ? "" : zone.error().message();
  };
  const std::string good = tzif({.first_offset = 0, .transitions = {{1000, 60}, {2000, 120}}, .rule = ""});
  EXPECT_EQ(fault(""), "not a TZif file");
  EXPECT_EQ(fault("#!/bin/sh\n" + good), "not a TZif file");
  std::string first_version = good;
  first_version[4] = '\0';
  EXPECT_EQ(fault(first_version), "a TZif file of version 1; expected version 2 or later");
  EXPECT_EQ(fault(tzif({.first_offset = 0, .transitions = {{2000, 60}, {1000, 120}}, .rule = ""})),
            "transitions are not in ascending order");
  EXPECT_EQ(fault(tzif({.first_offset = 100'000, .transitions = {}, .rule = ""})), "an offset of over a day");
  EXPECT_EQ(fault(tzif({.first_offset = 0, .transitions = {}, .rule = "nonsense"})),
            "the TZif file's footer is not a rule of POSIX: nonsense");
}

}  // namespace
}  // namespace berth
