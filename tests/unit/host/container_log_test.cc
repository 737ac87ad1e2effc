// ContainerLog: real files, on a clock that the test sets.
#include "firmware-host/agent/container_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class ContainerLogTest : public testing::Test {
 protected:
  ContainerLogTest() {
    std::string pattern = fs::temp_directory_path() / "berth-log-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    clock_.booted_ms = 1'475'799'000'000;  // 2016-10-07T00:10:00Z
    clock_.now_ms = 7'069;
  }
  ~ContainerLogTest() override { fs::remove_all(directory_); }

  void open(LogLimits limits = {.file_bytes = 64 * 1024, .files = 2, .bytes_per_second = 0}) {
    log_.reset();
    log_.emplace(directory_, "main", limits, clock_);
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(directory_ + "/" + name).rdbuf();
    return text.str();
  }
  std::string log() const { return read("main.log"); }

  HandClock clock_;
  std::string directory_;
  std::optional<ContainerLog> log_;
};

TEST_F(ContainerLogTest, ALineThatTheDiskTakesInPartIsNotThereAtAll) {
  open({.file_bytes = 1 << 20, .files = 2, .bytes_per_second = 0});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{100'000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  for (int i = 0; i < 200; ++i) log_->append(OutputStream::standard, std::string(1000, 'a') + "\n");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  log_->append(OutputStream::standard, "there is space again\n");
  std::istringstream lines(log());
  int count = 0;
  std::string last;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::size_t begin = std::string("2016-10-07T00:10:07.069000000Z stdout F ").size();
    const std::string text = line.size() < begin ? "" : line.substr(begin);
    EXPECT_TRUE(text == std::string(1000, 'a') || text == "there is space again") << line.size();
    last = line;
  }
  EXPECT_GT(count, 50);
  EXPECT_LT(count, 100);
  EXPECT_TRUE(last.ends_with(" stdout F there is space again")) << last;
}

TEST_F(ContainerLogTest, ALineHasItsTimeItsStreamAndWhetherItIsWhole) {
  open();
  log_->append(OutputStream::standard, "one\ntwo\n");
  log_->append(OutputStream::errors, "\n");
  EXPECT_EQ(log(),
            "2016-10-07T00:10:07.069000000Z stdout F one\n"
            "2016-10-07T00:10:07.069000000Z stdout F two\n"
            "2016-10-07T00:10:07.069000000Z stderr F \n");
}

TEST_F(ContainerLogTest, ALineThatComesInPiecesIsOneAndStreamsDoNotMix) {
  open();
  log_->append(OutputStream::standard, "be");
  log_->append(OutputStream::errors, "err");
  EXPECT_EQ(log(), "");
  log_->append(OutputStream::standard, "gin\nrest");
  log_->append(OutputStream::errors, "or\n");
  EXPECT_EQ(log(),
            "2016-10-07T00:10:07.069000000Z stdout F begin\n"
            "2016-10-07T00:10:07.069000000Z stderr F error\n");
  log_.reset();
  EXPECT_TRUE(log().ends_with(" stdout F rest\n")) << "at the end of the run it is written as it stands";
}

TEST_F(ContainerLogTest, ALongLineIsWrittenInParts) {
  open();
  const std::string part(ContainerLog::kLineBytesMax, 'x');
  log_->append(OutputStream::standard, part + part + "y\n" + part + "\n");
  const std::string time = "2016-10-07T00:10:07.069000000Z ";
  EXPECT_TRUE(log() == time + "stdout P " + part + "\n" + time + "stdout P " + part + "\n" + time + "stdout F y\n" +
                           time + "stdout F " + part + "\n");
  open();
  for (int i = 0; i < 3000; ++i) log_->append(OutputStream::standard, "12345678");
  const std::string parts = log();
  EXPECT_EQ(std::count(parts.begin(), parts.end(), '\n'), 2) << "and is not gathered in memory";
}

TEST_F(ContainerLogTest, FilesAreRotatedBetweenLinesAndTheOldestGoes) {
  open({.file_bytes = 64 * 1024, .files = 3, .bytes_per_second = 0});
  for (int i = 0; i < 10'000; ++i) log_->append(OutputStream::standard, "line " + std::to_string(i) + "\n");
  int next = -1;
  for (const char* name : {"main.log.2", "main.log.1", "main.log"}) {
    EXPECT_LE(fs::file_size(directory_ + "/" + name), 64u * 1024);
    std::istringstream lines(read(name));
    for (std::string line; std::getline(lines, line); ++next) {
      const int number = std::stoi(line.substr(line.rfind(' ')));
      if (next == -1) next = number;
      EXPECT_EQ(number, next);
    }
  }
  EXPECT_EQ(next, 10'000);
  EXPECT_FALSE(fs::exists(directory_ + "/main.log.3"));
}

TEST_F(ContainerLogTest, OneFileIsEnough) {
  open({.file_bytes = 64 * 1024, .files = 1, .bytes_per_second = 0});
  log_->append(OutputStream::standard, std::string(1'000'000, 'x'));
  log_->append(OutputStream::standard, "\nlast\n");
  EXPECT_LE(fs::file_size(directory_ + "/main.log"), 64u * 1024);
  EXPECT_TRUE(log().ends_with("last\n"));
  EXPECT_FALSE(fs::exists(directory_ + "/main.log.1"));
}

TEST_F(ContainerLogTest, AFloodIsCutAndALineTellsHowMuch) {
  open({.file_bytes = 1024 * 1024, .files = 2, .bytes_per_second = 1024});
  const std::string line(100, 'x');
  for (int i = 0; i < 1000; ++i) log_->append(OutputStream::standard, line + "\n");
  const std::size_t burst = log().size();
  EXPECT_GT(burst, 15u * 1024);
  EXPECT_LE(burst, 16u * 1024);
  clock_.now_ms += 500;
  log_->append(OutputStream::standard, line + "\n");
  EXPECT_EQ(log().size(), burst) << "not before a second's lines may be written";
  clock_.now_ms += 600;
  log_->append(OutputStream::standard, "again\n");
  const std::size_t written = burst / (line.size() + 41);
  const std::string lost =
      std::to_string(1001 - written) + " lines (" + std::to_string((1001 - written) * 100) + " bytes)";
  EXPECT_EQ(log().substr(burst), "2016-10-07T00:10:08.169000000Z stderr F berth: " + lost +
                                     " were dropped: more than 1024 bytes a second (logs.bytes_per_second)\n"
                                     "2016-10-07T00:10:08.169000000Z stdout F again\n");
}

TEST_F(ContainerLogTest, WhatWasDroppedLastIsToldAtTheEndOfTheRun) {
  open({.file_bytes = 1024 * 1024, .files = 2, .bytes_per_second = 1024});
  for (int i = 0; i < 3; ++i) log_->append(OutputStream::standard, std::string(8000, 'x') + "\n");
  log_.reset();
  EXPECT_TRUE(log().contains("berth: 1 lines (8000 bytes) were dropped")) << log().substr(16'000);
}

TEST_F(ContainerLogTest, ARunHasFilesOfItsOwnAndTheOneBeforeIsKept) {
  for (const char* run : {"first", "second", "third"}) {
    open();
    log_->append(OutputStream::standard, std::string(run) + std::string(70'000, '\n'));
  }
  EXPECT_TRUE(read("main.previous.log.1").contains("F second\n") || read("main.previous.log").contains("F second\n") ||
              fs::exists(directory_ + "/main.previous.log.1"));
  EXPECT_FALSE(read("main.previous.log").contains("first"));
  open();
  EXPECT_FALSE(fs::exists(directory_ + "/main.log"));
  open();
  EXPECT_FALSE(fs::exists(directory_ + "/main.previous.log")) << "the run before has written nothing";
  EXPECT_FALSE(fs::exists(directory_ + "/main.previous.log.1"));
}

TEST_F(ContainerLogTest, FollowsNoLinkThatAWorkloadPutThere) {
  fs::create_symlink(directory_ + "/elsewhere", directory_ + "/main.log");
  open();
  fs::create_symlink(directory_ + "/elsewhere", directory_ + "/main.log");
  log_->append(OutputStream::standard, "x\n");
  EXPECT_FALSE(fs::exists(directory_ + "/elsewhere"));
}

TEST(ContainerLogNames, AreThoseOfLogsAndTheirOlderParts) {
  for (const char* name : {"main.log", "main.log.1", "main.previous.log", "main.previous.log.12"}) {
    EXPECT_TRUE(is_log_name(name)) << name;
  }
  for (const char* name : {"state.json", "main.log.", "main.log.x", "main.logs", "1", "", "log", "main.1"}) {
    EXPECT_FALSE(is_log_name(name)) << name;
  }
}

}  // namespace
}  // namespace berth
