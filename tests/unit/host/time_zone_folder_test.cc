#include "firmware-host/gateway/time_zone_folder.h"

#include <gtest/gtest.h>

#include "core/api/timestamp.h"

namespace berth {
namespace {

TEST(TimeZoneFolder, ReadsTheZonesOfTheSystem) {
  const Result<TimeZone> berlin = load_time_zone("Europe/Berlin", TimeZoneFolder());
  ASSERT_TRUE(berlin) << berlin.error().message();
  EXPECT_EQ(berlin->offset_at(*parse_timestamp("1980-01-01T00:00:00Z") / 1000), 3600);
  EXPECT_EQ(berlin->offset_at(*parse_timestamp("2026-07-01T00:00:00Z") / 1000), 7200);
  EXPECT_EQ(berlin->offset_at(*parse_timestamp("2126-07-01T00:00:00Z") / 1000), 7200);
}

TEST(TimeZoneFolder, WhatIsNoZoneIsUnknown) {
  for (const std::string_view name : {"Europe", "Nowhere/X", "zone.tab", "../zoneinfo/UTC", ""}) {
    EXPECT_FALSE(load_time_zone(name, TimeZoneFolder())) << name;
  }
  EXPECT_FALSE(load_time_zone("Europe/Berlin", TimeZoneFolder("/nonexistent")));
}

}  // namespace
}  // namespace berth
