// Frames: what is encoded is read again, and whatever else comes is refused with the member at fault.
#include "core/streams/frame.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

using Type = StreamFrame::Type;

std::vector<StreamFrame> one_of_each() {
  LogQuery query;
  query.uid = "u1";
  query.pod = "default/web";
  query.container = "main";
  query.follow = query.previous = true;
  query.tail = 10;
  query.since_ms = 60'000;
  query.from = "00ff-12";
  ExecQuery exec{.uid = "u1", .pod = "default/web", .container = "main", .command = {"sh", "-c", "echo \"$1\""}};
  exec.input = exec.terminal = true;
  exec.size = {40, 132};
  return {{.type = Type::open, .count = 65536, .query = query},
          {.type = Type::credit, .count = 1'000'000'000'000},
          {.type = Type::close},
          {.type = Type::opened, .container = "main", .containers = {"main", "side"}},
          {.type = Type::data, .count = 17, .position = "00ff-29", .bytes = std::string("a\n\0{\xff\n", 6)},
          {.type = Type::alive, .count = 23},
          {.type = Type::end, .count = 23, .why = StreamEnd::busy, .reason = "too many"},
          {.type = Type::open, .count = 65536, .query = exec, .id = "a-1"},
          {.type = Type::open, .count = 65536, .query = ForwardQuery{"u1", "default/web", 8080}, .id = "a-1"},
          {.type = Type::open, .count = 65536, .query = UsageQuery{}, .id = "a-1"},
          {.type = Type::open, .count = 65536, .query = LoadQuery{}, .id = "a-1"},
          {.type = Type::open, .count = 65536, .query = LoadQuery{"r.example/app:1", 5'000'000'000}, .id = "a-1"},
          {.type = Type::opened, .container = "main", .id = "a-1", .run = 7, .input = 65536},
          {.type = Type::credit, .count = 70'000, .id = "a-1", .input = 12},
          {.type = Type::data, .count = 3, .bytes = "oops", .id = "a-1", .errors = true},
          {.type = Type::data, .count = 7, .id = "a-1", .last = true},
          {.type = Type::alive, .count = 7, .id = "a-1", .input = 70'000},
          {.type = Type::resize, .id = "a-1", .size = {24, 80}},
          {.type = Type::end, .count = 7, .why = StreamEnd::occupied, .id = "a-1"},
          {.type = Type::end, .count = 7, .why = StreamEnd::done, .id = "a-1", .exit_code = 255}};
}

std::string error_of(std::string_view payload) {
  const auto frame = decode_stream_frame(payload);
  return frame ? "" : frame.error().message();
}

TEST(StreamFrames, AreReadAsTheyWereWritten) {
  for (const StreamFrame& frame : one_of_each()) {
    const auto read = decode_stream_frame(encode(frame));
    ASSERT_TRUE(read.has_value()) << encode(frame) << ": " << read.error().message();
    EXPECT_EQ(*read, frame) << encode(frame);
  }
}

TEST(StreamFrames, ThatAreWrongNameTheMember) {
  EXPECT_EQ(error_of(R"({"type":"run"})"), "type: unknown: run");
  EXPECT_EQ(error_of(R"({"type":"open","limit":"1"})"),
            "open: must have logs, exec, forward, load or usage: others are unknown");
  EXPECT_EQ(error_of(R"({"type":"open","limit":"1","exec":{"uid":"u","command":[]}})"),
            "exec.command: must name a program");
  EXPECT_EQ(error_of(R"({"type":"open","limit":"1","exec":{"uid":"u","command":["a",7]}})"),
            "exec.command: must be a list of texts");
  EXPECT_EQ(error_of(R"({"type":"open","limit":"1","exec":{"uid":"u","command":["sh"],"rows":-1}})"),
            "exec.rows: must be an integer from 0 to 65535");
  EXPECT_EQ(error_of(R"({"type":"open","limit":"1","forward":{"uid":"u","port":0}})"),
            "forward.port: must be from 1 to 65535");
  EXPECT_TRUE(error_of(R"({"type":"open","limit":"1","load":{"bytes":"-1"}})").starts_with("load.bytes: "));
  EXPECT_TRUE(error_of(R"({"type":"close","id":"../x"})").starts_with("id: "));
  EXPECT_TRUE(error_of(R"({"type":"open","limit":"1","logs":{"uid":"../x"}})").starts_with("logs.uid: "));
  EXPECT_TRUE(error_of(R"({"type":"open","limit":"x","logs":{"uid":"u"}})").starts_with("limit: "));
  EXPECT_EQ(error_of(R"({"type":"open","limit":"1","logs":{"uid":"u","follow":"yes"}})"),
            "logs.follow: must be true or false");
  EXPECT_TRUE(error_of(R"({"type":"open","limit":"1","logs":{"uid":"u","tail":"-1"}})").starts_with("logs.tail: "));
  EXPECT_TRUE(error_of(R"({"type":"data","offset":1})"
                       "\nx")
                  .starts_with("offset: "));
  EXPECT_EQ(error_of(R"({"type":"data","offset":"1","position":")" + std::string(600, 'x') + "\"}\nx"),
            "position: must have at most 512 bytes");
  EXPECT_EQ(error_of(std::string(kStreamFrameBytes + 1, ' ')), "frame: must have at most 16384 bytes");
  EXPECT_TRUE(error_of("").starts_with("frame: "));
}

TEST(StreamFrames, WithAWholePartFitIntoTheirLimit) {
  const StreamFrame frame{.type = Type::data,
                          .count = ~std::uint64_t{0},
                          .position = std::string(512, '"'),  // each is written as two
                          .bytes = std::string(kStreamPartBytes - 64, '\n')};
  EXPECT_LE(encode(frame).size(), kStreamFrameBytes + 512);
  EXPECT_TRUE(decode_stream_frame(encode({.type = Type::data,
                                          .count = ~std::uint64_t{0},
                                          .position = "0123456789abcdef-123456789012345678",
                                          .bytes = std::string(kStreamPartBytes, '\n')})));
}

TEST(StreamFrames, ThatWereBentAreReadOrRefused) {
  Random random(5);
  for (int round = 0; round < rounds(20'000); ++round) {
    const std::vector<StreamFrame> frames = one_of_each();
    std::string payload = encode(frames[random.below(frames.size())]);
    for (std::uint64_t changes = 1 + random.below(4); changes > 0 && !payload.empty(); --changes) {
      const std::size_t at = random.below(payload.size());
      if (random.chance(1, 3)) {
        payload.erase(at, 1 + random.below(8));
      } else {
        payload[at] = static_cast<char>(random.below(256));
      }
    }
    if (const auto frame = decode_stream_frame(payload)) encode(*frame);
  }
}

}  // namespace
}  // namespace berth
