#include "core/base64.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Base64, IsWrittenAsTheStandardSays) {
  // RFC 4648, section 10.
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string("\x00\xFF\xFE", 3)), "AP/+");
}

TEST(Base64, IsReadBackWhateverTheBytes) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    bytes += static_cast<char>(i * 7);
    EXPECT_EQ(from_base64(to_base64(bytes)).value_or("wrong"), bytes);
  }
}

TEST(Base64, MayHaveLineEnds) { EXPECT_EQ(from_base64("Zm9v\r\nYmFy\n").value_or("wrong"), "foobar"); }

TEST(Base64, SaysWhereItIsWrongAndShowsNothing) {
  for (const std::string text : {"%%%", "Zm9", "Zg=", "=", "Zg==Zg==", "Zg=x", "Z===", "Zm9v=", "Zm 9v"}) {
    const Result<std::string> bytes = from_base64(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().message().substr(0, 31), "expected base64, wrong at byte ") << text;
  }
  EXPECT_EQ(from_base64("Zm9v%").error().message(), "expected base64, wrong at byte 4");
}

}  // namespace
}  // namespace berth
