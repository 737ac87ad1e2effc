// What a device said of a pod is kept small, and given back as it was.
#include "core/objects/report.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Report, GivesBackWhatTheDeviceSaid) {
  for (const char* text : {
           R"({"epoch":"1.234","phase":"Running","startTime":"2026-05-01T00:03:26Z"})",
           R"({"epoch":"1.2","containerStatuses":[{"restartCount":1.25,"image":"i:1.2"}],"startTime":"1.2"})",
           R"({"epoch":"01.2","phase":"Running"})",
           R"({"epoch":"0.0","message":"0.0 of 10.0"})",
           R"({"epoch":7,"startTime":8})",
           R"({"message":"\u0001 and \u0002"})",
           R"({"epoch":"1.2","phase":"Succeeded","startTime":"\u0001"})",
           R"({})",
       }) {
    const Json said = *Json::parse(text);
    const Report report(said);
    EXPECT_FALSE(report.is_null());
    EXPECT_EQ(report.text(), said.dump());
    EXPECT_EQ(report.json(), said);
    EXPECT_EQ(report, Report(report.json()));
  }
}

TEST(Report, OfNothingIsNone) {
  EXPECT_TRUE(Report().is_null());
  EXPECT_TRUE(Report(Json()).is_null());
  EXPECT_EQ(Report().text(), "");
  EXPECT_TRUE(Report().json().is_null());
  EXPECT_NE(Report(), Report(Json::object()));
}

TEST(Report, TellsEpochsAndStartsApart) {
  const auto report = [](const std::string& epoch, const std::string& start) {
    return Report(Json(Json::Object{{"epoch", Json(epoch)}, {"phase", Json("Running")}, {"startTime", Json(start)}}));
  };
  EXPECT_EQ(report("1.2", "a"), report("1.2", "a"));
  EXPECT_NE(report("1.2", "a"), report("1.3", "a"));
  EXPECT_NE(report("1.2", "a"), report("1.2", "b"));
  static_assert(sizeof(Report) <= 32, "ten thousand of them are held");
}

}  // namespace
}  // namespace berth
