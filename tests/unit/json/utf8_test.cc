#include "core/json/utf8.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Utf8, IsCutIntoPiecesBetweenCharacters) {
  EXPECT_EQ(pieces_of("", 4), (std::vector<std::string_view>{""}));
  EXPECT_EQ(pieces_of("abcd", 4), (std::vector<std::string_view>{"abcd"}));
  EXPECT_EQ(pieces_of("abcde", 4), (std::vector<std::string_view>{"abcd", "e"}));
  EXPECT_EQ(pieces_of("abcż", 4), (std::vector<std::string_view>{"abc", "ż"}));
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a€🦆ż";
  std::string whole;
  for (const std::string_view piece : pieces_of(text, 7)) {
    EXPECT_LE(piece.size(), 7u);
    EXPECT_TRUE(is_utf8(piece));
    whole += piece;
  }
  EXPECT_EQ(whole, text);
}

}  // namespace
}  // namespace berth
