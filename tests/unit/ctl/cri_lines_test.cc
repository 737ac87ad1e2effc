// CriLines: a device's lines as kubectl shows them.
#include "firmware-host/ctl/cri_lines.h"

#include <gtest/gtest.h>

#include <sstream>

namespace berth {
namespace {

constexpr const char* kTime = "2016-10-06T00:17:09.669000000Z";

std::string shown(const std::vector<std::string>& parts, bool has_times = false) {
  std::ostringstream out;
  CriLines lines(out, has_times);
  for (const std::string& part : parts) lines.print(part);
  lines.finish();
  return out.str();
}

std::string line(const std::string& rest) { return std::string(kTime) + " " + rest + "\n"; }

TEST(CriLinesTest, ShowsTheContentOfBothStreams) {
  EXPECT_EQ(shown({line("stdout F one") + line("stderr F two words ") + line("stdout F ")}), "one\ntwo words \n\n");
}

TEST(CriLinesTest, JoinsThePartsOfALine) {
  EXPECT_EQ(shown({line("stdout P be") + line("stdout F gin") + line("stdout F x")}), "begin\nx\n");
  EXPECT_EQ(shown({line("stdout P be") + line("stdout F gin")}, true), std::string(kTime) + " begin\n");
}

TEST(CriLinesTest, ShowsTimesWhenAsked) {
  EXPECT_EQ(shown({line("stdout F one")}, true), std::string(kTime) + " one\n");
}

TEST(CriLinesTest, ALineMayComeInPieces) {
  const std::string whole = line("stdout F one") + line("stderr F two");
  for (std::size_t at = 0; at <= whole.size(); ++at) {
    EXPECT_EQ(shown({whole.substr(0, at), whole.substr(at)}), "one\ntwo\n") << at;
  }
}

TEST(CriLinesTest, WhatHasAnotherFormIsShownAsItIs) {
  EXPECT_EQ(shown({"raw\na b c\nno end"}), "raw\na b c\nno end");
  EXPECT_EQ(shown({std::string(100'000, 'x')}), std::string(100'000, 'x'));
}

}  // namespace
}  // namespace berth
