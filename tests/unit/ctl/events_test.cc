// How ages are shown, and which word means events.
#include "firmware-host/ctl/events.h"

#include <gtest/gtest.h>

#include <sstream>
#include <utility>

#include "firmware-host/real_clock.h"

namespace berth {
namespace {

TEST(CtlEvents, ShowAgesAsKubectlDoes) {
  for (const auto& [seconds, want] : std::initializer_list<std::pair<Millis, const char*>>{{-5, "0s"},
                                                                                           {0, "0s"},
                                                                                           {119, "119s"},
                                                                                           {120, "2m"},
                                                                                           {599, "9m59s"},
                                                                                           {600, "10m"},
                                                                                           {10799, "179m"},
                                                                                           {10800, "3h"},
                                                                                           {11100, "3h5m"},
                                                                                           {28800, "8h"},
                                                                                           {172799, "47h"},
                                                                                           {172800, "2d"}}) {
    EXPECT_EQ(age_text(seconds * 1000 + 999 * (seconds > 0)), want) << seconds;
  }
}

TEST(CtlEvents, AreMeantByAnyOfTheirNames) {
  for (const char* name : {"events", "event", "ev", "Event"}) EXPECT_TRUE(is_events(name)) << name;
  EXPECT_FALSE(is_events("pods"));
}

TEST(CtlEvents, OfOneObjectShowHowOftenAndSinceWhen) {
  std::ostringstream out;
  const std::string now = std::to_string(RealClock().wall());
  write_events(
      {*Json::parse(R"({"type":"Warning","reason":"BackOff","message":"why","count":3,"source":"n1","time":")" + now +
                    R"(","firstTime":")" + now + R"("})"),
       *Json::parse(R"({"type":"Normal","reason":"Scheduled","message":"there","count":1,"time":")" + now +
                    R"(","firstTime":")" + now + R"("})")},
      out);
  EXPECT_EQ(out.str(),
            "Events:\n"
            "  TYPE      REASON      AGE               FROM              MESSAGE\n"
            "  Warning   BackOff     0s (x3 over 0s)   berth-agent, n1   why\n"
            "  Normal    Scheduled   0s                berthd            there\n");
}

}  // namespace
}  // namespace berth
