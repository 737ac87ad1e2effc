#include "core/turn.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "storage/memory_store.h"

namespace berth {
namespace {

// Tells in which order things happen: a topic that is sent, "[" and "]" around what may share packets, "|" a sync.
class Link final : public Transport {
 public:
  explicit Link(const MemoryStore& store) : store_(store) {}
  void set_handler(Handler*) override {}
  bool is_up() const override { return true; }
  void send(const Message& message) override { note(message.topic); }
  void gather(bool on) override { note(on ? "[" : "]"); }
  void subscribe(const std::string&, int, SubscribeOptions) override {}
  std::string take_log() { return std::exchange(log_, {}); }

 private:
  void note(const std::string& what) {
    for (; syncs_ < store_.commits(); ++syncs_) log_ += "|";
    log_ += what;
  }

  const MemoryStore& store_;
  std::uint64_t syncs_ = 0;
  std::string log_;
};

class TurnTest : public testing::Test {
 protected:
  void send(const std::string& topic) {
    Message message;
    message.topic = topic;
    turn.send(std::move(message));
  }
  std::string finish() {
    EXPECT_TRUE(turn.finish().is_success());
    return link.take_log();
  }
  MemoryStore store;
  Link link{store};
  Turn turn{store, link};
};

TEST_F(TurnTest, SaysThatNothingIsGatheredAnyMoreEvenIfItSentNothing) {
  EXPECT_EQ(finish(), "]");
  store.put(Table::meta, "a", "b");
  EXPECT_EQ(finish(), "|]");
}

TEST_F(TurnTest, SendsInOnePacketWhatFollowsFromItsEffects) {
  store.put(Table::meta, "a", "b");
  send("1");
  turn.after_commit([this] { send("3"); });
  send("2");
  EXPECT_EQ(finish(), "|[12[3]");
}

TEST_F(TurnTest, LetsNothingThatWasSentWaitForAnotherSync) {
  store.put(Table::meta, "a", "b");
  send("1");
  turn.after_commit([this] {
    store.put(Table::meta, "a", "c");
    send("2");
  });
  EXPECT_EQ(finish(), "|[1]|[2]");
}

}  // namespace
}  // namespace berth
