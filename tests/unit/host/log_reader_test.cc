// LogReader: what it reads of files that a ContainerLog writes and rotates meanwhile.
#include "firmware-host/agent/streams/log_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "core/random.h"
#include "firmware-host/agent/container_log.h"
#include "tests/unit/hand_clock.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class LogReaderTest : public testing::Test {
 protected:
  LogReaderTest() {
    std::string pattern = fs::temp_directory_path() / "berth-reader-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    begin_run();
  }
  ~LogReaderTest() override { fs::remove_all(directory_); }

  void begin_run() {
    log_.reset();
    log_ = std::make_unique<ContainerLog>(
        directory_, "main", LogLimits{.file_bytes = 64 * 1024, .files = 3, .bytes_per_second = 0}, clock_);
    runs_ = true;
  }
  void end_run() {
    log_.reset();
    runs_ = false;
  }
  void write(int lines) {
    for (; lines > 0; --lines) {
      ++clock_.now_ms;
      log_->append(OutputStream::standard, "line " + std::to_string(written_++) + "\n");
    }
  }
  LogReader open(LogReader::Start start = {}, bool follows = false) {
    return LogReader(directory_ + "/main.log", directory_ + "/main.previous.log", std::move(start),
                     follows ? std::function<bool()>([this] { return runs_; }) : std::function<bool()>());
  }
  // What comes until there is nothing now.
  std::string drain(LogReader& reader, std::size_t bytes_max = 15 * 1024) {
    std::string text;
    for (StreamSource::Part part{.more = true}; part.more && !part.end;) {
      part = reader.read(bytes_max);
      EXPECT_LE(part.bytes.size(), bytes_max);
      text += part.bytes;
      if (!part.position.empty()) position_ = part.position;
      is_over_ = part.end.has_value();
    }
    return text;
  }
  // The numbers of its lines, "3..9" or "3..9 12..14".
  static std::string numbers(const std::string& text) {
    std::istringstream lines(text);
    std::string ranges;
    int first = -1, last = -2;
    const auto add = [&] {
      if (first >= 0) ranges += (ranges.empty() ? "" : " ") + std::to_string(first) + ".." + std::to_string(last);
    };
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find(" stdout F line ");
      const int number = at == std::string::npos ? -1 : std::stoi(line.substr(at + 15));
      if (number != last + 1 || number < 0) {
        add();
        first = number;
      }
      last = number;
    }
    add();
    return ranges;
  }
  std::string read_all(LogReader::Start start = {}, std::size_t bytes_max = 15 * 1024) {
    LogReader reader = open(std::move(start));
    return numbers(drain(reader, bytes_max));
  }
  int oldest() {
    const std::string all = read_all();
    return std::stoi(all);
  }

  HandClock clock_;
  std::string directory_;
  std::unique_ptr<ContainerLog> log_;
  bool runs_ = true;
  int written_ = 0;
  std::string position_;
  bool is_over_ = false;
};

TEST_F(LogReaderTest, AllFilesAreReadFromTheOldestOn) {
  write(3000);
  ASSERT_TRUE(fs::exists(directory_ + "/main.log.2"));
  EXPECT_EQ(read_all(), "0..2999");
  write(2000);
  const std::string all = read_all();
  EXPECT_TRUE(all.ends_with("..4999") && oldest() > 0) << all;
}

TEST_F(LogReaderTest, TheLastLinesAreFoundOverAllFiles) {
  write(3000);
  for (const std::uint64_t tail : {1, 2, 999, 1400, 2999}) {
    EXPECT_EQ(read_all({.tail = tail, .since = {}, .from = {}}), std::to_string(3000 - tail) + "..2999");
  }
  EXPECT_EQ(read_all({.tail = 0, .since = {}, .from = {}}), "");
  for (const std::uint64_t tail : {std::uint64_t{3000}, std::uint64_t{3001}, ~std::uint64_t{0}}) {
    EXPECT_EQ(read_all({.tail = tail, .since = {}, .from = {}}), "0..2999");
  }
}

TEST_F(LogReaderTest, LinesThatAreOlderAreLeftOut) {
  write(100);
  const std::string since = to_log_time(clock_.wall() - 9);
  EXPECT_EQ(read_all({.tail = {}, .since = since, .from = {}}), "90..99");
  EXPECT_EQ(read_all({.tail = 5, .since = since, .from = {}}), "95..99");
  EXPECT_EQ(read_all({.tail = 50, .since = since, .from = {}}), "90..99");
  EXPECT_EQ(read_all({.tail = {}, .since = to_log_time(clock_.wall() + 1), .from = {}}), "");
}

TEST_F(LogReaderTest, FollowsOverRotationUntilTheRunEnds) {
  LogReader reader = open({}, true);
  EXPECT_EQ(drain(reader), "") << "there may be no file yet";
  std::string text;
  for (int i = 0; i < 10; ++i) {
    write(700);
    text += drain(reader);
    EXPECT_FALSE(is_over_);
  }
  EXPECT_EQ(numbers(text), "0..6999");
  write(5);
  end_run();
  EXPECT_EQ(numbers(drain(reader)), "7000..7004");
  EXPECT_TRUE(is_over_);
}

TEST_F(LogReaderTest, ARunIsReadToItsEndThoughTheNextHasBegun) {
  write(10);
  LogReader reader = open({}, true);
  EXPECT_EQ(numbers(drain(reader)), "0..9");
  write(10);
  begin_run();
  write(10);
  EXPECT_EQ(numbers(drain(reader)), "10..19");
  EXPECT_TRUE(is_over_);
}

TEST_F(LogReaderTest, AReaderThatFallsBehindIsToldThatLinesAreMissing) {
  write(10);
  LogReader reader = open({}, true);
  drain(reader);
  write(20'000);
  const std::string text = drain(reader);
  EXPECT_TRUE(text.contains("rotated away")) << numbers(text);
  EXPECT_TRUE(numbers(text).ends_with("..20009")) << numbers(text);
}

TEST_F(LogReaderTest, APositionIsGoneOnFromWhateverTheFileIsCalledNow) {
  write(500);
  LogReader reader = open();
  EXPECT_EQ(numbers(drain(reader)), "0..499");
  write(1500);
  EXPECT_EQ(read_all({.tail = 3, .since = {}, .from = position_}), "500..1999") << "tail does not count then";
  EXPECT_TRUE(LogReader::has_position(directory_ + "/main.log", position_));
  begin_run();
  EXPECT_FALSE(LogReader::has_position(directory_ + "/main.log", position_));
  EXPECT_TRUE(LogReader::has_position(directory_ + "/main.previous.log", position_));
  EXPECT_EQ(read_all({.tail = {}, .since = {}, .from = "00-1"}), "") << "a run that has written nothing";
  write(3);
  LogReader other = open({.tail = {}, .since = {}, .from = position_});
  const std::string text = drain(other);
  EXPECT_TRUE(text.starts_with("berth: ") && numbers(text) == "2000..2002") << text;
  for (const char* wrong : {"x", "-", "00-1", "0123456789abcdef-99999999999999999999", "-1-1"}) {
    EXPECT_FALSE(LogReader::has_position(directory_ + "/main.previous.log", wrong)) << wrong;
  }
}

TEST_F(LogReaderTest, WhatHasNoFormIsShownAsItIs) {
  log_.reset();
  std::ofstream(directory_ + "/main.log") << "raw\n" << std::string(40'000, 'x') << "\nno end";
  LogReader reader = open({.tail = {}, .since = to_log_time(clock_.wall()), .from = {}});
  EXPECT_EQ(drain(reader), "raw\n" + std::string(40'000, 'x') + "\nno end");
}

TEST_F(LogReaderTest, NeitherLinksNorPipesAreRead) {
  log_.reset();
  fs::create_symlink("/etc/passwd", directory_ + "/main.log");
  EXPECT_TRUE(open().is_empty());
  fs::remove(directory_ + "/main.log");
  ASSERT_EQ(mkfifo((directory_ + "/main.log").c_str(), 0600), 0);
  EXPECT_TRUE(open().is_empty());
}

TEST_F(LogReaderTest, NoLineIsLostOrRepeatedHoweverReadingAndWritingMeet) {
  Random random(3);
  for (int round = 0; round < rounds(30); ++round) {
    begin_run();
    written_ = 0;
    std::string text;
    auto reader = std::make_unique<LogReader>(directory_ + "/main.log", directory_ + "/main.previous.log",
                                              LogReader::Start{}, [this] { return runs_; });
    position_.clear();
    for (int step = 0; step < 60; ++step) {
      write(static_cast<int>(random.below(400)));
      for (std::uint64_t reads = random.below(12); reads > 0; --reads) {
        const StreamSource::Part part = reader->read(500 + random.below(8000));
        text += part.bytes;
        if (!part.position.empty()) position_ = part.position;
      }
      if (random.chance(1, 4)) {  // another stream goes on
        reader = std::make_unique<LogReader>(directory_ + "/main.log", directory_ + "/main.previous.log",
                                             LogReader::Start{{}, {}, position_}, [this] { return runs_; });
      }
    }
    end_run();
    text += drain(*reader);
    // One that falls behind may miss lines; it never shows one twice, nor half of one.
    if (text.contains("rotated away")) continue;
    EXPECT_TRUE(is_over_);
    EXPECT_TRUE(numbers(text).ends_with(".." + std::to_string(written_ - 1))) << numbers(text) << " " << written_;
  }
}

}  // namespace
}  // namespace berth
