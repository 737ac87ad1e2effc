#include "transports/read_rest.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::milliseconds;

class ReadRestTest : public testing::Test {
 protected:
  // After so many more ms messages were delivered; the ms of the rest.
  long after(int ms, bool urgent = false, std::size_t bytes = 100, int messages = 1) {
    now_ += milliseconds(ms);
    return std::chrono::duration_cast<milliseconds>(rest_.after(now_, urgent, bytes, messages)).count();
  }
  ReadRest rest_{milliseconds(10)};
  ReadRest::Time now_;
};

TEST_F(ReadRestTest, IsOnlyBetweenMessagesThatComeDensely) {
  EXPECT_EQ(after(0), 0) << "the first";
  EXPECT_EQ(after(21), 0);
  EXPECT_EQ(after(20), 10);
  EXPECT_EQ(after(1), 10);
  EXPECT_EQ(after(1000), 0);
}

TEST_F(ReadRestTest, IsNotWhileMessagesOfQos1Come) {
  after(0);
  EXPECT_EQ(after(1, true), 0);
  EXPECT_EQ(after(1), 0) << "the next one of an exchange may follow";
  for (int i = 0; i < 9; ++i) EXPECT_EQ(after(10), 0);
  EXPECT_EQ(after(10), 10);
}

// A broker drops messages of QoS 0 for which it finds no room: mosquitto from the 1,000th that waits.
TEST_F(ReadRestTest, IsNotInAFloodOfBytes) {
  after(0);
  EXPECT_EQ(after(1, false, ReadRest::kManyBytes), 10);
  EXPECT_EQ(after(1, false, ReadRest::kManyBytes + 1), 0);
  EXPECT_EQ(after(99), 0);
  EXPECT_EQ(after(1), 10);
}

TEST_F(ReadRestTest, BecomesLongerWhereManyMessagesComeInEachAndShortAgainAfterOneOfQos1) {
  const int many = ReadRest::kManyMessages;
  after(0);
  EXPECT_EQ(after(1, false, 100, many), 10) << "the first";
  EXPECT_EQ(after(10, false, 100, many), 20);
  EXPECT_EQ(after(20, false, 100, many), 40);
  EXPECT_EQ(after(50, false, 100, many), 40) << "no longer than that, and still dense";
  EXPECT_EQ(after(40, false, 100, many - 1), 10);
  EXPECT_EQ(after(10, false, 100, many), 20);
  EXPECT_EQ(after(20, true, 100, many), 0);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(after(10, false, 100, many), 0);
  EXPECT_EQ(after(10, false, 100, many), 10);
}

TEST(ReadRest, OfNoTimeNeverIs) {
  ReadRest rest{milliseconds(0)};
  const ReadRest::Time now;
  EXPECT_EQ(rest.after(now, false, 1, 1), ReadRest::Duration::zero());
  EXPECT_EQ(rest.after(now, false, 1, 1), ReadRest::Duration::zero());
}

}  // namespace
}  // namespace berth
