// $(NAME) in texts.
#include "firmware-host/agent/volumes/expansion.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Expansion, LeavesWhatIsNotClosed) {
  const Variables known{{"A", "1"}};
  EXPECT_EQ(expand_variables("$(A $A $ $", known), "$(A $A $ $");
  EXPECT_EQ(expand_variables("$$$(A)$(A)$()", known), "$11$()");
  EXPECT_EQ(expand_variables("a)$(", known), "a)$(");
}

TEST(Expansion, ThatWouldBeLongerThanAnyArgumentEndsSoon) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "$(A)";
  const std::string expanded = expand_variables(text, {{"A", std::string(100'000, 'x')}});
  EXPECT_GT(expanded.size(), kMostArgumentBytes);
  EXPECT_LE(expanded.size(), kMostArgumentBytes + 100'000);
}

}  // namespace
}  // namespace berth
