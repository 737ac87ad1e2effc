#include "core/handshake/epoch.h"

#include <gtest/gtest.h>

#include "core/handshake/fields.h"
#include "core/handshake/gateway_presence.h"

namespace berth {
namespace {

TEST(Epoch, ComparesTheTermFirst) {
  EXPECT_LT((Epoch{1, 900}), (Epoch{2, 1}));
  EXPECT_LT((Epoch{2, 1}), (Epoch{2, 2}));
}

TEST(Epoch, IsEncodedAsTermDotCounter) {
  const Epoch largest{18446744073709551615u, 18446744073709551615u};
  EXPECT_EQ(to_text(Epoch{3, 17}), "3.17");
  for (const Epoch& epoch : {Epoch{}, Epoch{3, 17}, largest}) {
    const Result<Epoch> back = parse_epoch(to_text(epoch));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, epoch);
  }
}

TEST(Epoch, RefusesEveryOtherSpelling) {
  for (const char* text : {"", ".", "1", "1.", ".1", "1.2.3", "01.2", "1.02", "-1.2", "+1.2", " 1.2", "1.2 ", "1,2",
                           "18446744073709551616.1", "0x1.2"}) {
    const Result<Epoch> epoch = parse_epoch(text);
    ASSERT_FALSE(epoch) << text;
    EXPECT_NE(epoch.error().message().find("is not an epoch"), std::string::npos);
  }
}

TEST(Id, IsSafeInAFileName) {
  for (const char* text : {"a", "4f2c-11", "A_b.c", "0"}) EXPECT_TRUE(is_valid_id(text)) << text;
  for (const char* text : {"", ".", "..", "../x", "a/b", "a b", "-a", "a-", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(is_valid_id(text)) << text;
  }
  EXPECT_TRUE(is_valid_id(std::string(128, 'a')));
  EXPECT_FALSE(is_valid_id(std::string(129, 'a')));
}

TEST(Leader, ATermThatNoStartReachesIsRefused) {
  const auto leader = [](const std::string& term) {
    return decode_leader(R"({"gateway":"gw","machine":"m","storeId":"s","term":")" + term + R"("})");
  };
  EXPECT_TRUE(leader("4611686018427387903").has_value());
  for (const char* term : {"4611686018427387904", "18446744073709551615"}) {
    ASSERT_FALSE(leader(term).has_value()) << term;
    EXPECT_EQ(leader(term).error().message(), "term: must be less than 2^62");
  }
}

}  // namespace
}  // namespace berth
