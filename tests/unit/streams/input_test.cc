// What an operator sends in a stream: bounded by what its program takes, whole, and only once; and whose a stream is.
#include "tests/unit/streams/streams_fixture.h"

namespace berth {
namespace {

using Type = StreamFrame::Type;
using Ends = std::vector<std::pair<StreamEnd, std::string>>;

class StreamInput : public StreamsFixture {};

TEST_F(StreamInput, ComesBackWholeFromAProgramThatRepeatsItWithItsExitCode) {
  const auto ann = reader("ann");
  const std::string text = lines(0, 300'000);
  ann->run_command(text);
  run(10'000);
  EXPECT_TRUE(ann->text == text) << ann->text.size() << " of " << text.size();
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::done, ""}}));
  EXPECT_EQ(ann->exit_code, 7);
  EXPECT_LE(device_.texts.cat_kept_most, StreamServer::kInputWindow) << "the device keeps no more than that";
}

TEST_F(StreamInput, KeepsToTheRate) {
  const auto ann = reader("ann");
  ann->run_command(std::string(8 * 1024 * 1024, 'x'));
  run(1000);
  EXPECT_LE(ann->text.size(), StreamServer::kBytesPerSecond + StreamServer::kTurnBytes + StreamServer::kInputWindow);
  EXPECT_GE(ann->text.size(), StreamServer::kBytesPerSecond * 8 / 10);
}

TEST_F(StreamInput, ThatAProgramDoesNotTakeWaitsAtTheOperator) {
  device_.texts.cat_takes = 1000;
  const auto ann = reader("ann");
  ann->run_command(std::string(200'000, 'x'));
  run(10'000);
  EXPECT_EQ(ann->text.size(), 1000u);
  EXPECT_LE(device_.texts.cat_kept_most, StreamServer::kInputWindow);
  EXPECT_GE(ann->input.size(), 200'000 - StreamServer::kInputWindow - 1000);
  EXPECT_EQ(ann->ends, Ends());
}

TEST_F(StreamInput, IsBoundedWhateverADeviceAllows) {
  const auto ann = reader("ann");
  device_.texts.cat_takes = 0;
  ann->run_command(std::string(8 * 1024 * 1024, 'x'));
  run(0);
  Message message;
  const unsigned slot = ('a' + 'n' + 'n' + '-' + '1') % kStreamSlots;
  message.topic = Topics("f").stream("n1", "ann", std::to_string(slot)) + "/up";
  message.payload = encode({.type = Type::alive, .id = "ann-1", .input = ~std::uint64_t{0}});
  device_.client.send(message);
  run(0);
  EXPECT_LT(ann->input.size(), 8u * 1024 * 1024);
  EXPECT_GE(ann->input.size(), 8u * 1024 * 1024 - StreamServer::kInputWindow - kStreamWindowMax);
}

TEST_F(StreamInput, ThatIsLostEndsTheStreamAndIsNotLeftOut) {
  int count = 0;
  broker_.set_policy([&](const Leg& leg, Random&) {
    const bool is_input = leg.message.topic.ends_with("/down") && leg.message.payload.contains(R"("type":"data")");
    return Fate{.copies = is_input && ++count == 3 ? 0 : 1};
  });
  const auto ann = reader("ann");
  ann->run_command(std::string(60'000, 'x'));
  run(2 * kStreamAliveMs);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::failed, "frames of the operator were lost"}}));
  EXPECT_EQ(device_.server.size(), 0u);
}

TEST_F(StreamInput, OfATerminalHasItsSize) {
  device_.texts.cat_takes = 0;
  const auto ann = reader("ann");
  ann->run_command("x");
  run(0);
  ann->stream->resize({50, 100});
  run(0);
  EXPECT_EQ(device_.texts.size, (TerminalSize{50, 100}));
}

TEST_F(StreamInput, ACommandRunsOnceThoughTheLinkIsSlowerThanTheOperatorAsks) {
  broker_.set_policy([](const Leg&, Random&) { return Fate{.copies = 1, .delay = 1'400}; });
  const auto ann = reader("ann");
  run(10'000);
  ann->run_command("abc");
  run(60'000);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::done, ""}})) << "answers that come again do not end it";
  EXPECT_EQ(ann->text, "abc");
  EXPECT_EQ(device_.texts.programs_begun, 1);
}

TEST_F(StreamInput, StreamsOfOneOperatorTakeSlotsOfTheirOwn) {
  device_.texts.cat_takes = 0;
  std::vector<std::unique_ptr<FakeReader>> programs;
  for (int i = 0; i < kStreamSlots; ++i) {
    // Another connection of the same operator: its ids begin at the same slot.
    auto made = std::make_unique<FakeReader>(broker_, clock_, timers_, "ann", false, std::to_string(i));
    run(0);
    made->run_command("x" + std::to_string(i));
    run(0);
    programs.push_back(std::move(made));
  }
  EXPECT_EQ(device_.server.size(), static_cast<std::size_t>(kStreamSlots));
  run(kStreamAliveMs);
  for (const auto& each : programs) EXPECT_EQ(each->ends, Ends());
  const auto ann = reader("ann");
  ann->run_command("x");
  run(0);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::busy, "this device serves at most 8 streams at once: end one of them"}}));
}

}  // namespace
}  // namespace berth
