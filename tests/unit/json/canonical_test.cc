#include "core/json/canonical.h"

#include <gtest/gtest.h>

#include "core/json/merge_patch.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

TEST(CanonicalJson, IgnoresTheOrderOfMembersAtEveryDepth) {
  const Json a = parsed_json(R"({"a":[{"x":1,"y":2}],"b":{"c":true,"d":null}})");
  const Json b = parsed_json(R"({"b":{"d":null,"c":true},"a":[{"y":2,"x":1}]})");
  EXPECT_TRUE(is_same(a, b));
  EXPECT_EQ(canonical_text(a), canonical_text(b));
  EXPECT_EQ(canonical_text(b), R"({"a":[{"x":1,"y":2}],"b":{"c":true,"d":null}})");
}

TEST(CanonicalJson, TellsOtherContentApart) {
  for (const char* other : {R"({"a":[2,1]})", R"({"a":[1]})", R"({"a":[1,2],"b":null})", R"({"b":[1,2]})", "[1,2]"}) {
    EXPECT_FALSE(is_same(parsed_json(R"({"a":[1,2]})"), parsed_json(other))) << other;
  }
}

TEST(MergePatch, RemovesMergesAndReplaces) {
  Json target = parsed_json(R"({"a":1,"b":{"c":2,"d":3},"e":[1,2]})");
  apply_merge_patch(target, parsed_json(R"({"a":null,"b":{"c":null,"x":{"y":1}},"e":[3],"f":{"g":null}})"));
  EXPECT_EQ(target.dump(), R"({"b":{"d":3,"x":{"y":1}},"e":[3],"f":{}})");
}

TEST(MergePatch, BetweenTwoObjectsMakesOneOfTheOther) {
  const Json from = parsed_json(R"({"a":1,"b":{"c":2,"d":3},"e":[{"x":1,"y":2}]})");
  const Json to = parsed_json(R"({"b":{"c":4},"e":[{"y":2,"x":1}],"f":"new"})");
  const Json patch = merge_patch_between(from, to);
  EXPECT_EQ(canonical_text(patch), R"({"a":null,"b":{"c":4,"d":null},"f":"new"})");
  Json patched = from;
  apply_merge_patch(patched, patch);
  EXPECT_TRUE(is_same(patched, to));
  EXPECT_EQ(merge_patch_between(to, to).dump(), "{}");
}

}  // namespace
}  // namespace berth
