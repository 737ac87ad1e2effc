// Both sides of a stream over an in-memory broker: credit, limits, and how it ends.
#include "tests/unit/streams/streams_fixture.h"

namespace berth {
namespace {

using Type = StreamFrame::Type;
using Ends = std::vector<std::pair<StreamEnd, std::string>>;

class StreamsTest : public StreamsFixture {
 protected:
  // A frame of an operator that plays by no rules.
  void send(const std::string& base, StreamFrame frame) {
    if (frame.id.empty()) frame.id = "s" + base.substr(base.rfind('/') + 1);
    send(base, encode(frame));
  }
  void send(const std::string& base, const std::string& payload, bool retain = false) {
    Message message;
    message.topic = base + "/down";
    message.payload = payload;
    message.retain = retain;
    hostile_.send(message);
    run(0);
  }
  // What the device has answered below a topic since the last call.
  std::vector<StreamFrame> answers() {
    std::vector<StreamFrame> frames;
    for (const Message& message : std::exchange(heard_.messages, {})) {
      frames.push_back(decode_stream_frame(message.payload).value());
    }
    return frames;
  }
  std::string topic(const std::string& id) const { return Topics("f").stream("n1", "eve", id); }
  void listen() {
    hostile_.set_handler(&heard_);
    hostile_.connect();
    run(0);
    hostile_.subscribe("berth/v1/f/streams/n1/eve/+/up", 0);
    run(0);
  }
  StreamFrame opening(std::uint64_t limit = StreamClient::kWindow) const {
    StreamFrame frame{.type = Type::open, .count = limit};
    frame.query = LogQuery{.uid = "u1"};
    return frame;
  }

  struct Heard final : Transport::Handler {
    void on_message(const Message& message) override { messages.push_back(message); }
    void on_link(bool) override {}
    std::vector<Message> messages;
  };
  Heard heard_;
  LoopbackClient hostile_{broker_, "eve"};
};

TEST_F(StreamsTest, AllOfATextArrivesInOrder) {
  device_.texts.text.text = lines(0, 100'000);
  const auto ann = reader("ann");
  ann->open();
  run(3000);
  EXPECT_EQ(ann->said, "opened main/2 ");
  EXPECT_TRUE(ann->text == device_.texts.text.text) << ann->text.size();
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::done, ""}}));
  EXPECT_EQ(device_.server.size(), 0u);
}

TEST_F(StreamsTest, WhatIsWrittenLaterFollowsAtOnce) {
  device_.texts.text = {.text = "one\n", .is_over = false, .readers = {}};
  const auto ann = reader("ann");
  ann->open();
  run(60'000);
  EXPECT_EQ(ann->text, "one\n");
  write("two\n");
  run(0);
  EXPECT_EQ(ann->text, "one\ntwo\n");
  EXPECT_EQ(ann->ends, Ends()) << "silence of the pod ends no stream";
  EXPECT_EQ(device_.server.size(), 1u);
}

TEST_F(StreamsTest, TheDeviceSendsNoMoreThanItWasGivenCreditFor) {
  listen();
  device_.texts.text.text = lines(0, 100'000);
  send(topic("1"), opening());
  run(4'000);
  std::uint64_t sent = 0;
  for (const StreamFrame& frame : answers()) sent += frame.bytes.size();
  EXPECT_GT(sent, 3 * kStreamPartBytes);
  EXPECT_LE(sent, StreamClient::kWindow);
  send(topic("1"), {.type = Type::credit, .count = sent + StreamClient::kWindow});
  run(0);
  for (const StreamFrame& frame : answers()) sent += frame.bytes.size();
  EXPECT_GT(sent, StreamClient::kWindow);
  EXPECT_LE(sent, 2 * StreamClient::kWindow);
}

TEST_F(StreamsTest, NobodyGetsCreditForWhatWasNotSent) {
  listen();
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  send(topic("1"), opening());
  answers();
  send(topic("1"), {.type = Type::credit, .count = 2 + StreamClient::kWindow});
  const auto said = answers();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].why, StreamEnd::unknown);
  EXPECT_EQ(said[0].reason, "limit: must be at most 65537, got 65538");
  for (const std::uint64_t limit : {std::uint64_t{0}, kStreamWindowMin - 1, kStreamWindowMax + 1, ~std::uint64_t{0}}) {
    send(topic("2"), opening(limit));
    EXPECT_EQ(answers().at(0).why, StreamEnd::refused) << limit;
  }
  EXPECT_EQ(device_.server.size(), 0u);
}

TEST_F(StreamsTest, AnOperatorWhoTakesNothingDoesNotHoldUpAnother) {
  listen();
  device_.texts.text.text = lines(0, 50'000);
  for (const char* id : {"1", "2", "3"}) send(topic(id), opening());
  const auto ann = reader("ann");
  ann->open();
  run(3000);
  EXPECT_TRUE(ann->text == device_.texts.text.text) << ann->text.size();
}

TEST_F(StreamsTest, FourReadersShareTheDevice) {
  device_.texts.text.text = lines(0, 20'000);
  std::vector<std::unique_ptr<FakeReader>> readers;
  for (const char* name : {"ann", "bob", "cid", "dan"}) readers.push_back(reader(name));
  for (const auto& each : readers) each->open();
  run(6000);
  for (const auto& each : readers) EXPECT_TRUE(each->text == device_.texts.text.text) << each->text.size();
}

// A part was a whole share, and one byte without credit, which comes at the next tick, stopped the stream for 5 s.
TEST_F(StreamsTest, SmallOutputOfEightStreamsComesAtOnce) {
  device_.texts.text = {.text = "begin\n", .is_over = false, .readers = {}};
  std::vector<std::unique_ptr<FakeReader>> readers;
  for (int i = 0; i < 8; ++i) readers.push_back(reader("o" + std::to_string(i)));
  for (const auto& each : readers) each->open();
  run(0);
  for (int round = 0; round < 10; ++round) {
    write(std::string(300, 'x'));
    run(20);  // their rate allows it
    for (const auto& each : readers) EXPECT_EQ(each->text.size(), device_.texts.text.text.size()) << round;
  }
}

// Two streams of one connection whose ids begin at the same slot: that the slot is occupied was told to neither.
TEST_F(StreamsTest, AFrameForAnotherStreamOfTheSlotIsNotTaken) {
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  const auto ann = reader("ann");
  ann->open();
  run(0);
  EXPECT_EQ(ann->not_taken, 0);
  FakeReader other(broker_, clock_, timers_, "ann", false, "e");  // 'c' + 'e' is a multiple of the slots
  run(0);
  other.open();
  run(0);
  EXPECT_EQ(other.text, "x");
  EXPECT_EQ(ann->not_taken, 1);
}

TEST_F(StreamsTest, AllStreamsTogetherKeepToTheRate) {
  device_.texts.text.text = std::string(8 * 1024 * 1024, 'x');
  const auto ann = reader("ann");
  const auto bob = reader("bob");
  ann->open();
  bob->open();
  run(1000);
  const std::size_t bytes = ann->text.size() + bob->text.size();
  EXPECT_LE(bytes, StreamServer::kBytesPerSecond + StreamServer::kTurnBytes);
  EXPECT_GE(bytes, StreamServer::kBytesPerSecond * 9 / 10);
  EXPECT_LE(ann->text.size(), bob->text.size() + kStreamPartBytes) << "one has as much of it as the other";
  EXPECT_LE(bob->text.size(), ann->text.size() + kStreamPartBytes);
}

TEST_F(StreamsTest, OneMoreThanTheDeviceServesIsToldSo) {
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  std::vector<std::unique_ptr<FakeReader>> readers;
  for (int i = 0; i < 9; ++i) {
    readers.push_back(reader("o" + std::to_string(i)));
    readers.back()->open();
    run(0);
  }
  EXPECT_EQ(readers[8]->ends,
            Ends({{StreamEnd::busy, "this device serves at most 8 streams at once: end one of them"}}));
  readers[0]->stream.reset();
  run(0);
  readers[8]->ends.clear();
  readers[8]->open();
  run(0);
  EXPECT_EQ(readers[8]->text, "x");
}

TEST_F(StreamsTest, WhatCannotBeHadIsRefusedWithTheReason) {
  const auto ann = reader("ann");
  ann->query.uid = "none";
  ann->open();
  run(0);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::refused, "there is no such pod"}}));
}

TEST_F(StreamsTest, AnOperatorThatIsGoneLeavesNoStream) {
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  const auto ann = reader("ann");
  ann->open();
  run(0);
  ann->client.drop();
  run(kStreamSilenceMs - 1);
  EXPECT_EQ(device_.server.size(), 1u);
  run(kStreamAliveMs + 1);
  EXPECT_EQ(device_.server.size(), 0u);
  EXPECT_TRUE(device_.texts.text.readers.empty()) << "nor a source";
}

TEST_F(StreamsTest, ADeviceThatIsGoneIsNoticed) {
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  const auto ann = reader("ann");
  ann->open();
  run(0);
  device_.client.disconnect();
  run(kStreamSilenceMs + kStreamAliveMs);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::silent, "nothing was heard of the device"}}));
}

TEST_F(StreamsTest, ADeviceThatLostTheStreamSaysSoAtTheNextSignOfLife) {
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  const auto ann = reader("ann");
  ann->open();
  run(0);
  device_.client.drop();
  device_.client.connect();
  run(kStreamAliveMs);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::unknown, "no such stream: open another one"}}));
}

TEST_F(StreamsTest, ALostLastFrameIsNoticedToo) {
  broker_.set_policy(
      [](const Leg& leg, Random&) { return Fate{.copies = leg.message.payload.contains(R"("type":"data")") ? 0 : 1}; });
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  const auto ann = reader("ann");
  ann->open();
  run(2 * kStreamAliveMs);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::lost, "frames were lost"}})) << "by the offset of a sign of life";
  EXPECT_EQ(device_.server.size(), 0u) << "the device is told";
  device_.texts.text.is_over = true;
  ann->ends.clear();
  ann->open();
  run(0);
  EXPECT_EQ(ann->ends, Ends({{StreamEnd::lost, "frames were lost"}})) << "by that of the end";
}

TEST_F(StreamsTest, HostileFramesOpenNothingAndBreakNothing) {
  listen();
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  send(topic("1"), "{");
  send(topic("1"), std::string(20'000, 'x'));
  send(topic("1"), {.type = Type::opened});
  send(topic("1"), {.type = Type::credit, .count = 7});
  send(topic("1"), {.type = Type::close});
  send(topic("1") + "/more", opening());
  send("berth/v1/f/streams/n1/Eve!/1", opening());
  send("berth/v1/f/streams/n1/eve/..", opening());
  send("berth/v1/f/streams/n2/eve/1", opening());
  StreamFrame kept = opening();
  kept.id = "kept";
  send(topic("1"), encode(kept), true);
  EXPECT_EQ(device_.texts.queries.size(), 1u)
      << "the retained one counts when it is sent, not when it is delivered again";
  device_.client.drop();
  device_.client.connect();
  run(0);
  EXPECT_EQ(device_.texts.queries.size(), 1u);
  EXPECT_EQ(device_.server.size(), 0u);
}

TEST_F(StreamsTest, OnlyTopicsOfSlotsAreStreamsSoThatADeviceAnswersOnFewTopics) {
  listen();
  for (const char* slot : {"8", "10", "x", "39d34d77-1"}) {
    send(topic(slot), opening());
    const auto said = answers();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].why, StreamEnd::refused);
    EXPECT_EQ(said[0].reason, std::string("slot: must be from 0 to 7, got ") + slot + ": upgrade berthctl");
  }
  StreamFrame earlier = opening();
  send(topic("1"), encode(earlier));
  EXPECT_EQ(answers().at(0).reason, "id: missing: upgrade berthctl");
  EXPECT_EQ(device_.server.size(), 0u);
}

TEST_F(StreamsTest, AnotherStreamInASlotIsToldSoAndChangesNothing) {
  listen();
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  send(topic("1"), opening());
  answers();
  StreamFrame other = opening();
  other.id = "other";
  send(topic("1"), other);
  const auto said = answers();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].id, "other");
  EXPECT_EQ(said[0].why, StreamEnd::occupied);
  send(topic("1"), {.type = Type::close, .id = "other"});
  EXPECT_EQ(device_.server.size(), 1u);
  send(topic("1"), {.type = Type::close});
  EXPECT_EQ(device_.server.size(), 0u);
}

TEST_F(StreamsTest, AnOpeningThatComesTwiceOpensOneStream) {
  listen();
  device_.texts.text = {.text = "x", .is_over = false, .readers = {}};
  send(topic("1"), opening());
  send(topic("1"), opening());
  EXPECT_EQ(device_.texts.queries.size(), 1u);
  int opened = 0;
  for (const StreamFrame& frame : answers()) opened += frame.type == Type::opened ? 1 : 0;
  EXPECT_EQ(opened, 2) << "the first answer may have been lost";
  send(topic("1"), {.type = Type::close});
  send(topic("1"), opening());
  EXPECT_EQ(device_.texts.queries.size(), 1u) << "nor does one that comes when the stream is over";
  EXPECT_EQ(answers().at(0).why, StreamEnd::unknown);
}

}  // namespace
}  // namespace berth
