#include "firmware-host/agent/images/layer_path.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace berth {
namespace {

TEST(LayerPath, IsRelativeAndHasNoEmptyParts) {
  EXPECT_EQ(*layer_path("etc/passwd"), "etc/passwd");
  EXPECT_EQ(*layer_path("./etc//passwd/"), "etc/passwd");
  EXPECT_EQ(*layer_path("./"), ".");
  EXPECT_EQ(*layer_path("a/./b"), "a/b");
  EXPECT_EQ(*layer_path("..a/b..c"), "..a/b..c");
}

TEST(LayerPath, RefusesNamesThatLeadOut) {
  for (const char* name : {"/abs", "//", "..", "../x", "a/../x", "a/..", "./../x"}) {
    const Result<std::string> path = layer_path(name);
    ASSERT_FALSE(path) << name;
    EXPECT_NE(path.error().message().find(std::string("\"") + name + "\""), std::string::npos) << name;
  }
  EXPECT_FALSE(layer_path(""));
}

struct Meaning {
  const char* path;
  EntryKind kind;
  const char* hidden;
  friend void PrintTo(const Meaning& meaning, std::ostream* out) { *out << meaning.path; }
};

class Meanings : public testing::TestWithParam<Meaning> {};

TEST_P(Meanings, AreThoseOfTheImageSpec) {
  const Result<EntryMeaning> meaning = meaning_of(GetParam().path);
  ASSERT_TRUE(meaning);
  EXPECT_EQ(meaning->kind, GetParam().kind);
  EXPECT_EQ(meaning->hidden, GetParam().hidden);
}

INSTANTIATE_TEST_SUITE_P(
    Layers, Meanings,
    testing::Values(Meaning{"etc/passwd", EntryKind::plain, ""}, Meaning{"a.wh.b", EntryKind::plain, ""},
                    Meaning{".wh.x", EntryKind::whiteout, "x"}, Meaning{"a/.wh.x", EntryKind::whiteout, "a/x"},
                    Meaning{"a/.wh..x", EntryKind::whiteout, "a/.x"}, Meaning{".wh..wh..opq", EntryKind::opaque, "."},
                    Meaning{"a/b/.wh..wh..opq", EntryKind::opaque, "a/b"},
                    Meaning{".wh..wh.plnk", EntryKind::aufs_metadata, ""},
                    Meaning{"a/.wh..wh.orph", EntryKind::aufs_metadata, ""}));

TEST(LayerPath, RefusesWhiteoutsOfNothing) {
  for (const char* path : {".wh.", "a/.wh..", "a/.wh...", "a/.wh.b/c"}) EXPECT_FALSE(meaning_of(path)) << path;
}

}  // namespace
}  // namespace berth
