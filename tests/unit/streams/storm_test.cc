// Streams in a storm: whatever is lost, repeated, late or out of order, and however often either side is cut off, an
// operator who resumes has read the text, all of it, once.
#include "tests/unit/rounds.h"
#include "tests/unit/streams/streams_fixture.h"

namespace berth {
namespace {

class StreamStorm : public StreamsFixture, public testing::WithParamInterface<int> {
 protected:
  StreamStorm() : StreamsFixture(static_cast<std::uint64_t>(GetParam())) {}

  static Fate bend(const Leg&, Random& random) {
    Fate fate;
    if (random.chance(1, 20)) fate.copies = 0;
    if (random.chance(1, 20)) fate.copies = 2;
    if (random.chance(1, 20)) fate.overtakes = true;
    fate.delay = static_cast<Millis>(random.below(200));
    fate.copy_delay = static_cast<Millis>(random.below(8000));
    return fate;
  }
};

TEST_P(StreamStorm, ATextIsReadOnceAndWhole) {
  Random random(static_cast<std::uint64_t>(GetParam()) * 31);
  device_.texts.text.is_over = false;
  broker_.set_policy(bend);
  std::vector<std::unique_ptr<FakeReader>> readers;
  for (const char* name : {"ann", "bob"}) {
    readers.push_back(reader(name, true));
    run(1000);
    readers.back()->open();
  }
  int written = 0;
  for (int step = 0; step < 60; ++step) {
    const int more = static_cast<int>(random.below(2000));
    write(lines(written, written + more));
    written += more;
    run(static_cast<Millis>(random.below(3000)));
    LoopbackClient* cut = random.chance(1, 2) ? &device_.client : &readers[random.below(2)]->client;
    if (random.chance(1, 5)) {
      cut->drop();
      cut->connect();
    }
    if (random.chance(1, 20)) broker_.restart(static_cast<Millis>(random.below(4000)));
    EXPECT_LE(device_.server.size(), StreamServer::kStreamsMax);
  }
  device_.texts.text.is_over = true;
  write("");
  broker_.set_policy({});
  run(180'000);
  for (const auto& each : readers) {
    EXPECT_TRUE(each->text == device_.texts.text.text) << each->text.size() << " of " << device_.texts.text.text.size();
    ASSERT_EQ(each->ends.size(), 1u);
    EXPECT_EQ(each->ends[0].first, StreamEnd::done);
  }
  run(kStreamSilenceMs + kStreamAliveMs);
  EXPECT_EQ(device_.server.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StreamStorm, testing::Range(1, 1 + rounds(40)));

}  // namespace
}  // namespace berth
