#include "core/controllers/cron_job/cron_field.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace berth {
namespace {

constexpr CronBounds kHours{.min = 0, .max = 23, .names = {}};
constexpr std::array<std::string_view, 3> kNames{"jan", "feb", "mar"};
constexpr CronBounds kMonths{.min = 1, .max = 12, .names = kNames};

// "1 5 9", with " any" if the field does not restrict.
std::string show_field(std::string_view text, const CronBounds& bounds) {
  const Result<CronField> field = parse_cron_field(text, bounds);
  if (!field) return "refused";
  std::string shown;
  for (int value = 0; value < 64; ++value) {
    if (field->has(value)) shown += (shown.empty() ? "" : " ") + std::to_string(value);
  }
  return shown + (field->is_any ? " any" : "");
}

TEST(CronField, ListsRangesAndSteps) {
  EXPECT_EQ(show_field("5", kHours), "5");
  EXPECT_EQ(show_field("1,3-5,20-23/2", kHours), "1 3 4 5 20 22");
  EXPECT_EQ(show_field("*/10", kHours), "0 10 20");
  EXPECT_EQ(show_field("17/3", kHours), "17 20 23");
  EXPECT_EQ(show_field("*/99999999999", kHours), "0");
  EXPECT_EQ(show_field("*", kMonths), "1 2 3 4 5 6 7 8 9 10 11 12 any");
}

TEST(CronField, NamesInAnyCase) {
  EXPECT_EQ(show_field("Jan-MAR", kMonths), "1 2 3");
  EXPECT_EQ(show_field("feb/5", kMonths), "2 7 12");
  EXPECT_EQ(show_field("jan", kHours), "refused");
  EXPECT_EQ(show_field("january", kMonths), "refused");
}

TEST(CronField, AStarRestrictsNothingUnlessItHasAStep) {
  EXPECT_TRUE(parse_cron_field("?/1", kHours)->is_any);
  EXPECT_EQ(show_field("*/12", kHours), "0 12");
  EXPECT_EQ(show_field("*/12,*", kMonths).substr(0, 3), "1 2");
  EXPECT_TRUE(parse_cron_field("5,*", kHours)->is_any);
  EXPECT_FALSE(parse_cron_field("0-23", kHours)->is_any);
  // What follows a star and a hyphen is not looked at.
  EXPECT_TRUE(parse_cron_field("*-x-y", kHours)->is_any);
  EXPECT_EQ(show_field("*-5/12", kHours), "0 12");
}

TEST(CronField, EmptyElementsAreIgnored) {
  EXPECT_EQ(show_field("1,,2,", kHours), "1 2");
  EXPECT_EQ(show_field(",", kHours), "");
  EXPECT_EQ(parse_cron_field(",", kHours)->values, 0);
}

TEST(CronField, NumbersMayHaveASignAndLeadingZeros) {
  EXPECT_EQ(show_field("+5", kHours), "5");
  EXPECT_EQ(show_field("0010", kHours), "10");
  EXPECT_EQ(show_field("*/+12", kHours), "0 12");
}

TEST(CronField, RefusesTheRest) {
  for (const std::string_view text :
       {"24", "-1", "5-", "-",   "5-3", "1-2-3", "1/2/3", "*/0", "*/", "*/x", "*/-1",
        "/2", "x",  "5x", "0x5", "1_0", "+-5",   "++5",   "1.5", "**", "*5",  "99999999999999999999",
        "L",  "5#2"}) {
    EXPECT_EQ(show_field(text, kHours), "refused") << text;
  }
  EXPECT_EQ(show_field("0", kMonths), "refused");
}

TEST(CronField, TheErrorIsTheLibrarys) {
  const auto fault = [](std::string_view text, const CronBounds& bounds) {
    return parse_cron_field(text, bounds).error().message();
  };
  EXPECT_EQ(fault("1,24", kHours), "end of range (24) above maximum (23): 24");
  EXPECT_EQ(fault("0", kMonths), "beginning of range (0) below minimum (1): 0");
  EXPECT_EQ(fault("5-3", kHours), "beginning of range (5) beyond end of range (3): 5-3");
  EXPECT_EQ(fault("*/0", kHours), "step of range should be a positive number: */0");
  EXPECT_EQ(fault("1-2-3", kHours), "too many hyphens: 1-2-3");
  EXPECT_EQ(fault("1/2/3", kHours), "too many slashes: 1/2/3");
  EXPECT_EQ(fault("x", kHours), "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
  EXPECT_EQ(fault("*/-1", kHours), "negative number (-1) not allowed: -1");
}

}  // namespace
}  // namespace berth
