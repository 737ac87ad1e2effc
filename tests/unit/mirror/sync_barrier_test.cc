#include "core/mirror/sync_barrier.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class SyncBarrierTest : public ::testing::Test {
 protected:
  // Sends the barrier and returns its payload as it comes back.
  std::string sent() {
    barrier.send();
    EXPECT_TRUE(turn.finish().is_success());
    EXPECT_EQ(transport.on_wire.back().topic, topics.gateway_fence("gateway"));
    return transport.on_wire.back().payload;
  }
  void SetUp() override { transport.up = true; }

  MemoryStore store;
  RecordingTransport transport;
  Turn turn{store, transport};
  Topics topics{"default"};
  SyncBarrier barrier{turn, topics, "gateway"};
};

TEST_F(SyncBarrierTest, IsBackOnlyWithTheNumberSentLast) {
  barrier.raise();
  const std::string first = sent();
  EXPECT_TRUE(barrier.is_back(first));
  barrier.raise();
  EXPECT_FALSE(barrier.is_back(first));
  EXPECT_TRUE(barrier.is_back(sent()));
}

TEST_F(SyncBarrierTest, IsNotBackWithAnythingElse) {
  barrier.raise();
  for (const char* payload : {"", "1", "{}", R"({"fence":1})", R"({"fence":"2"})", R"({"fence":["1"]})", "{"}) {
    EXPECT_FALSE(barrier.is_back(payload)) << payload;
  }
}

TEST_F(SyncBarrierTest, ProvesWhatIsPublishedNowOnlyWithTheNextOne) {
  barrier.raise();
  const std::uint64_t proven_by = barrier.next();
  EXPECT_GT(proven_by, barrier.number());
  barrier.raise();
  EXPECT_EQ(proven_by, barrier.number());
}

TEST_F(SyncBarrierTest, IsSyncedForOneSessionOnly) {
  barrier.set_link(true);
  const std::uint32_t session = barrier.session();
  EXPECT_FALSE(barrier.is_synced());
  barrier.set_synced();
  EXPECT_TRUE(barrier.is_synced());
  barrier.set_link(false);
  EXPECT_FALSE(barrier.is_link_up());
  EXPECT_FALSE(barrier.is_synced());
  EXPECT_EQ(barrier.session(), session);
  barrier.set_link(true);
  EXPECT_EQ(barrier.session(), session + 1);
  EXPECT_FALSE(barrier.is_synced());
}

}  // namespace
}  // namespace berth
