#include "firmware-host/limited_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "firmware-host/logging.h"
#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

class LimitedLogTest : public testing::Test {
 protected:
  class Lines final : public Log {
   public:
    void write(Level level, std::string_view event, std::initializer_list<Field> fields) override {
      all.push_back(format_record(LogFormat::text, level, event, fields));
    }
    std::vector<std::string> all;
  };

  void refuse(const std::string& node, int times) {
    for (int i = 0; i < times; ++i) {
      const std::string topic = "berth/v1/f/nodes/" + node + "/pods/junk/x" + std::to_string(i);
      log_.write(Level::warn, "refused", {{"topic", topic}, {"reason", "not JSON"}});
    }
  }

  HandClock clock_;
  Lines lines_;
  LimitedLog log_{lines_, clock_};
};

TEST_F(LimitedLogTest, LeavesOutWhatOneDeviceRepeatsAndSaysSo) {
  refuse("n1", 3000);
  ASSERT_EQ(lines_.all.size(), LimitedLog::kRecords + 1);
  EXPECT_EQ(lines_.all.back(),
            "WARN further records are left out of the log for a while of=refused source=berth/v1/f/nodes/n1");

  clock_.now_ms += LimitedLog::kWindowMs;
  refuse("n1", 1);
  ASSERT_EQ(lines_.all.size(), LimitedLog::kRecords + 3);
  EXPECT_EQ(lines_.all[LimitedLog::kRecords + 1],
            "WARN records were left out of the log of=refused source=berth/v1/f/nodes/n1 count=2970");
}

TEST_F(LimitedLogTest, HidesNeitherAnotherDeviceNorAnotherEventBehindANoisyOne) {
  refuse("n1", 3000);
  lines_.all.clear();
  refuse("n2", 1);
  log_.write(Level::warn, "node quarantined", {{"node", "n1"}});
  EXPECT_EQ(lines_.all.size(), 2U);
}

TEST_F(LimitedLogTest, LimitsWhatIsToldOfANodeButNotOfPods) {
  for (int i = 0; i < 1000; ++i) log_.write(Level::info, "node online", {{"node", "n1"}});
  EXPECT_EQ(lines_.all.size(), LimitedLog::kRecords + 1);
  lines_.all.clear();
  for (int i = 0; i < 1000; ++i) log_.write(Level::info, "row moved", {{"pod", "default/web"}, {"node", "n1"}});
  EXPECT_EQ(lines_.all.size(), 1000U);
}

TEST_F(LimitedLogTest, LeavesOutNoError) {
  for (int i = 0; i < 1000; ++i) log_.write(Level::error, "the store failed", {{"node", "n1"}});
  EXPECT_EQ(lines_.all.size(), 1000U);
}

TEST_F(LimitedLogTest, IsBoundedHoweverManySourcesThereAre) {
  for (int i = 0; i < 10'000; ++i) refuse("n" + std::to_string(i), 1);
  EXPECT_EQ(lines_.all.size(), LimitedLog::kSources + LimitedLog::kRecords + 1);
}

TEST_F(LimitedLogTest, ForgetsSourcesThatWereQuietForAWindow) {
  for (std::size_t i = 0; i < LimitedLog::kSources; ++i) refuse("n" + std::to_string(i), 1);
  clock_.now_ms += LimitedLog::kWindowMs;
  lines_.all.clear();
  refuse("new", 1000);
  refuse("newer", 1000);
  EXPECT_EQ(lines_.all.size(), 2 * (LimitedLog::kRecords + 1));
}

}  // namespace
}  // namespace berth
