#include "core/handshake/term_history.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// Terms 3 from position 10 and 7 from position 50; the journal is at 90.
class TermHistoryTest : public ::testing::Test {
 protected:
  TermHistoryTest() {
    history.begin(3, 10);
    history.begin(7, 50);
  }
  EpochOrigin origin(std::uint64_t term, std::uint64_t counter) { return history.origin_of({term, counter}, 90); }
  TermHistory history;
};

TEST_F(TermHistoryTest, KnowsEpochsBetweenTheStartsOfTermsAsOurs) {
  for (const Epoch& epoch : {Epoch{3, 10}, Epoch{3, 49}, Epoch{7, 50}, Epoch{7, 89}}) {
    EXPECT_EQ(origin(epoch.term, epoch.counter), EpochOrigin::ours) << to_text(epoch);
  }
}

TEST_F(TermHistoryTest, DoesNotKnowEpochsBehindTheEndOfTheirTerm) {
  EXPECT_EQ(origin(3, 50), EpochOrigin::unknown) << "the next term had begun there";
  EXPECT_EQ(origin(7, 90), EpochOrigin::unknown) << "the journal is not that far";
  EXPECT_EQ(origin(7, 49), EpochOrigin::unknown);
}

TEST_F(TermHistoryTest, DoesNotKnowTermsThatItNeverBegan) {
  EXPECT_EQ(origin(5, 20), EpochOrigin::unknown);
  EXPECT_EQ(origin(8, 20), EpochOrigin::unknown);
}

TEST_F(TermHistoryTest, TakesEarlierTermsForThoseOfAnotherStore) {
  EXPECT_EQ(origin(2, 20), EpochOrigin::foreign);
  EXPECT_EQ(TermHistory().origin_of({1, 1}, 90), EpochOrigin::foreign);
}

TEST_F(TermHistoryTest, DropsTheOldestTermsBeyondItsLimit) {
  for (std::uint64_t term = 8; term < 8 + TermHistory::kMaxTerms - 1; ++term) history.begin(term, 90 + term);
  EXPECT_FALSE(history.contains(3));
  EXPECT_TRUE(history.contains(7));
  EXPECT_EQ(origin(3, 20), EpochOrigin::foreign);
}

TEST_F(TermHistoryTest, ATermOfALostStateIsContainedAndHasNoEpochs) {
  history.note_lost(5, 90);
  history.note_lost(9, 90);
  EXPECT_TRUE(history.may_contain(5, 7));
  EXPECT_TRUE(history.may_contain(9, 7));
  EXPECT_FALSE(history.may_contain(6, 7));
  for (const std::uint64_t counter : {10, 49, 50, 89, 90}) {
    EXPECT_EQ(origin(5, counter), EpochOrigin::unknown) << counter;
    EXPECT_EQ(origin(9, counter), EpochOrigin::unknown) << counter;
  }
  EXPECT_EQ(origin(3, 49), EpochOrigin::ours) << "the term before it ends where it did";
  EXPECT_EQ(origin(7, 89), EpochOrigin::ours);
  EXPECT_TRUE(TermHistory::parse(history.to_json()).has_value());
}

TEST_F(TermHistoryTest, IsReadAsItWasWritten) {
  const Result<TermHistory> read = TermHistory::parse(history.to_json());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, history);
}

TEST_F(TermHistoryTest, SaysWhatItCannotRead) {
  for (const char* text : {"{}", "[1]", R"(["x"])", R"(["3.1","3.2"])", R"(["4.1","3.2"])"}) {
    EXPECT_FALSE(TermHistory::parse(*Json::parse(text)).has_value()) << text;
  }
}

}  // namespace
}  // namespace berth
