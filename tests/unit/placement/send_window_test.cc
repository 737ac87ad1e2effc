#include "core/placement/send_window.h"

#include <gtest/gtest.h>

#include "storage/memory_store.h"
#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

class SendWindowOfRows : public ::testing::Test {
 protected:
  static Row row(const std::string& node) {
    Row made;
    made.node = node;
    made.phase = Phase::prebind;
    return made;
  }
  void enter(const std::string& node, int rows) {
    for (int i = 0; i < rows; ++i) window.enter(row(node));
  }
  static bool all_wait(const std::string&, std::string_view) { return true; }

  MemoryStore store;
  HandClock clock;
  Nodes nodes{store, clock};
  SendWindow window{{.fleet = 4, .node = 2}};
};

TEST_F(SendWindowOfRows, IsBusyForANodeThatHasItsShareUntilOneRowIsAnswered) {
  enter("n1", 1);
  EXPECT_FALSE(window.is_busy("n1"));
  enter("n1", 1);
  EXPECT_TRUE(window.is_busy("n1"));
  EXPECT_FALSE(window.is_busy("n2"));
  window.leave(row("n1"));
  EXPECT_FALSE(window.is_busy("n1"));
}

TEST_F(SendWindowOfRows, IsFullOnlyOfRowsWhoseNodesCanAnswer) {
  nodes.expect("n1").reachable = true;
  nodes.expect("n2").reachable = false;
  enter("n1", 2);
  enter("n2", 2);
  enter("unknown", 2);
  EXPECT_FALSE(window.is_full(nodes));
  enter("n1", 2);
  EXPECT_TRUE(window.is_full(nodes));
  nodes.find("n1")->reachable = false;
  EXPECT_FALSE(window.is_full(nodes));
}

TEST_F(SendWindowOfRows, NamesNodesThatHaveAnsweredOnce) {
  enter("n2", 1);
  enter("n1", 2);
  EXPECT_TRUE(window.take_answered().empty());
  window.leave(row("n2"));
  window.leave(row("n1"));
  window.leave(row("n1"));
  EXPECT_EQ(window.take_answered(), (std::set<std::string>{"n1", "n2"}));
  EXPECT_TRUE(window.take_answered().empty());
}

TEST_F(SendWindowOfRows, GivesDeferredPodsInTheOrderOfTheirDecisionsOnceTheNodeIsNotBusy) {
  enter("n1", 2);
  for (const char* uid : {"a", "b", "c"}) window.defer("n1", uid, all_wait);
  window.defer("n1", "a", all_wait);  // decided again, behind the others
  EXPECT_EQ(window.next_deferred("n1"), "");
  window.leave(row("n1"));
  EXPECT_EQ(window.next_deferred("n2"), "");
  for (const char* uid : {"b", "c", "a", ""}) EXPECT_EQ(window.next_deferred("n1"), uid);
}

TEST_F(SendWindowOfRows, DropsDeferredPodsThatNoLongerWait) {
  window.defer("n1", "gone", all_wait);
  window.defer("n1", "waits", [](const std::string& node, std::string_view uid) {
    EXPECT_EQ(node, "n1");
    return uid != "gone";
  });
  EXPECT_EQ(window.take_deferred(), (std::map<std::string, std::deque<std::string>>{{"n1", {"waits"}}}));
  EXPECT_TRUE(window.take_deferred().empty());
}

}  // namespace
}  // namespace berth
