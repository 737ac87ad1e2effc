// The loop, the clock and the log of the programs. Every wait is for an event.
#include "firmware-host/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "firmware-host/fd_watch.h"
#include "firmware-host/logging.h"
#include "firmware-host/processor_slices.h"
#include "firmware-host/real_clock.h"
#include "tests/unit/host/slice_of.h"

namespace berth {
namespace {

class EventLoopTest : public testing::Test {
 protected:
  RealClock clock_;
  Timers timers_;
  EventLoop loop_{clock_, timers_};
};

TEST_F(EventLoopTest, TakesShortSlicesOfTheProcessor) {
  if (slice_of(0) == 0) GTEST_SKIP() << "this kernel does not tell";
  EXPECT_EQ(slice_of(0), kShortSliceUs);
}

TEST_F(EventLoopTest, RunsDeadlinesInOrderAndEndsEachTurnOnce) {
  std::vector<std::string> seen;
  timers_.at(clock_.now(), [&] { seen.push_back("first"); });
  timers_.at(clock_.now(), [&] { seen.push_back("second"); });
  loop_.set_end_turn([&] {
    seen.push_back("end");
    // Set only now: on a slow machine a timer set earlier could be due in the first turn.
    if (seen.size() == 4) {
      timers_.at(clock_.now() + 20, [&] {
        seen.push_back("later");
        loop_.stop();
      });
    }
    return Status::ok();
  });
  ASSERT_TRUE(loop_.run().is_success());
  EXPECT_EQ(seen, (std::vector<std::string>{"end", "first", "second", "end", "later", "end"}));
}

// A clock that the test advances, so that work takes as long as the test wants.
class WorkClock final : public Clock {
 public:
  Millis now() const override { return us / 1000; }
  std::int64_t now_us() const override { return us; }
  Millis wall() const override { return now(); }
  std::int64_t us = 1'000'000;
};

TEST(EventLoop, ALongTurnLeavesTheRestToTheNextOne) {
  WorkClock clock;
  Timers timers;
  EventLoop loop(clock, timers);
  std::vector<std::string> seen;
  const auto work = [&](const char* name, std::int64_t us) {
    timers.at(clock.now(), [&, name, us] {
      seen.emplace_back(name);
      clock.us += us;
    });
  };
  work("short", EventLoop::kHandlersUs / 2);
  work("longer", EventLoop::kHandlersUs);
  work("last", 10 * EventLoop::kHandlersUs);
  work("late", 0);
  loop.set_end_turn([&] {
    seen.emplace_back("end");
    if (seen.size() == 8) loop.stop();
    return Status::ok();
  });
  ASSERT_TRUE(loop.run().is_success());
  EXPECT_EQ(seen, (std::vector<std::string>{"end", "short", "longer", "end", "last", "end", "late", "end"}));
}

TEST_F(EventLoopTest, RunsADeadlineSetByTheEndOfATurn) {
  bool ran = false;
  loop_.set_end_turn([&] {
    if (!ran) {
      timers_.at(clock_.now() + 5, [&] {
        ran = true;
        loop_.stop();
      });
    }
    return Status::ok();
  });
  ASSERT_TRUE(loop_.run().is_success());
  EXPECT_TRUE(ran);
}

TEST_F(EventLoopTest, EndsWithTheStatusOfAFailedTurn) {
  timers_.at(clock_.now(), [] {});
  int turns = 0;
  loop_.set_end_turn([&] { return ++turns == 2 ? Status::error("disk full") : Status::ok(); });
  const Status status = loop_.run();
  EXPECT_EQ(status.message(), "disk full");
  EXPECT_EQ(turns, 2);
}

TEST_F(EventLoopTest, CallsBackAtTheFirstSignalAndEndsAtTheSecond) {
  std::vector<int> signals;
  loop_.set_on_signal([&](int signal) {
    signals.push_back(signal);
    std::raise(SIGINT);
  });
  std::raise(SIGTERM);
  ASSERT_TRUE(loop_.run().is_success());
  EXPECT_EQ(signals, std::vector<int>{SIGTERM});
}

TEST_F(EventLoopTest, IgnoresHangupAndBrokenPipe) {
  std::raise(SIGHUP);
  std::raise(SIGPIPE);
  timers_.at(clock_.now(), [&] { loop_.stop(); });
  EXPECT_TRUE(loop_.run().is_success());
}

TEST_F(EventLoopTest, WatchesADescriptorUntilTheWatchIsDropped) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::string got;
  std::unique_ptr<FdWatch> watch;
  watch = std::make_unique<FdWatch>(loop_.context(), ends[0], [&] {
    char c = 0;
    ASSERT_EQ(read(watch->fd(), &c, 1), 1);
    got += c;
    if (got.size() == 3) {
      watch.reset();
      loop_.stop();
    }
  });
  ASSERT_EQ(write(ends[1], "abcd", 4), 4);
  ASSERT_TRUE(loop_.run().is_success());
  EXPECT_EQ(got, "abc");
  close(ends[1]);
}

TEST(RealClock, FormatsWallTimeLikeKubernetes) {
  EXPECT_EQ(to_rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(4'102'444'799'999), "2099-12-31T23:59:59Z");
}

TEST(Logging, WritesTextWithQuotesOnlyWhereNeeded) {
  EXPECT_EQ(format_record(LogFormat::text, Level::warn, "pod bound", {{"pod", "default/web"}, {"why", "a \"b\"\n"}}),
            R"(WARN pod bound pod=default/web why="a \"b\"\n")");
}

TEST(Logging, WritesJsonThatNoValueCanForge) {
  EXPECT_EQ(format_record(LogFormat::json, Level::error, "x", {{"k", "\"}\n\x01"}}),
            "\"level\":\"error\",\"event\":\"x\",\"k\":\"\\\"}\\n\\u0001\"");
}

TEST(Logging, WritesWholeLinesToStandardError) {
  testing::internal::CaptureStderr();
  SpdLog log(Level::info, LogFormat::json);
  log.write(Level::debug, "hidden", {});
  log.write(Level::info, "shown {}", {{"n", "1"}});
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(line.starts_with("{\"time\":\"")) << line;
  EXPECT_TRUE(line.ends_with("Z\",\"level\":\"info\",\"event\":\"shown {}\",\"n\":\"1\"}\n")) << line;
  EXPECT_EQ(line.find("hidden"), std::string::npos);
}

TEST(Logging, ParsesLevelsAndFormats) {
  EXPECT_EQ(parse_level("warn").value(), Level::warn);
  EXPECT_EQ(parse_level("loud").error().message(), "log level: expected debug, info, warn or error, got 'loud'");
  EXPECT_EQ(parse_log_format("xml").error().message(), "log format: expected text or json, got 'xml'");
}

}  // namespace
}  // namespace berth
