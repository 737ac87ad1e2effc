// Lists of pods that share memory with their copies, against vectors that do not.
#include "core/cache/pod_list.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

PodPtr pod(int number) { return share(make_pod("p" + std::to_string(number))); }

TEST(PodList, SharesItsPodsWithACopyThatGetsAnotherOne) {
  PodList first;
  for (int number = 0; number < 4; ++number) first.push_back(pod(number));
  const PodPtr watched = first[0];
  PodList second = first;
  second.push_back(pod(4));
  EXPECT_EQ(second.data(), first.data());
  EXPECT_EQ(watched.use_count(), 2u) << "here and in the one block of memory";
  EXPECT_EQ(first.size(), 4u);
  EXPECT_EQ(second.size(), 5u);
  EXPECT_EQ(first.shared_with(second), 4u);
}

TEST(PodList, TwoCopiesThatBothGetAPodDoNotSeeEachOthers) {
  PodList first;
  for (int number = 0; number < 4; ++number) first.push_back(pod(number));
  PodList second = first;
  const PodPtr of_first = pod(5);
  const PodPtr of_second = pod(6);
  first.push_back(of_first);
  second.push_back(of_second);
  EXPECT_EQ(first[4], of_first);
  EXPECT_EQ(second[4], of_second);
}

TEST(PodList, APodThatOnlyADroppedCopyHadGoesWithTheNextChange) {
  PodList first;
  first.push_back(pod(0));
  const PodPtr late = pod(1);
  {
    PodList second = first;
    second.push_back(late);
  }
  first.push_back(pod(2));
  EXPECT_EQ(late.use_count(), 1u);
}

TEST(PodList, IsWhatAVectorWouldBeWhateverIsCopiedAddedAndTaken) {
  constexpr std::size_t kLists = 6;
  std::vector<PodList> lists(kLists);
  std::vector<std::vector<PodPtr>> expected(kLists);
  std::vector<PodPtr> made;
  Random random(3);
  for (int step = 0; step < rounds(5000); ++step) {
    const std::size_t at = random.below(kLists);
    const std::uint64_t what = random.below(8);
    if (what < 4) {
      made.push_back(pod(step));
      lists[at].push_back(made.back());
      expected[at].push_back(made.back());
    } else if (what < 6 && !expected[at].empty()) {
      const auto place = static_cast<std::ptrdiff_t>(random.below(expected[at].size()));
      const PodPtr taken = lists[at].take(lists[at].begin() + place);
      ASSERT_EQ(taken, expected[at][static_cast<std::size_t>(place)]);
      expected[at].erase(expected[at].begin() + place);
    } else if (what == 6) {
      const std::size_t from = random.below(kLists);
      lists[at] = lists[from];
      expected[at] = expected[from];
    } else if (random.chance(1, 8)) {
      lists[at].clear();
      expected[at].clear();
    }
    for (std::size_t each = 0; each < kLists; ++each) {
      ASSERT_TRUE(std::equal(lists[each].begin(), lists[each].end(), expected[each].begin(), expected[each].end()));
    }
  }
  lists.clear();
  expected.clear();
  for (const PodPtr& each : made) ASSERT_EQ(each.use_count(), 1u) << "nobody holds it any more";
}

}  // namespace
}  // namespace berth
