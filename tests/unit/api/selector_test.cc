#include "core/api/selector.h"
#include "core/api/kind.h"
#include "core/api/metadata.h"
#include "core/api/names.h"
#include "core/api/taint.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Op = Requirement::Operator;

const Labels kLabels{{"zone", "a"}, {"cores", "4"}, {"plus", "+5"}, {"text", "4x"}, {"empty", ""}};

TEST(Requirement, MatchesAsKubernetesDoes) {
  struct Case {
    const char* name;
    Requirement requirement;
    bool want;
  };
  const Case cases[] = {
      {"in, value listed", {"zone", Op::in, {"b", "a"}}, true},
      {"in, other value", {"zone", Op::in, {"b"}}, false},
      {"in, key absent", {"none", Op::in, {""}}, false},
      {"in, empty value", {"empty", Op::in, {""}}, true},
      {"not in, value listed", {"zone", Op::not_in, {"a"}}, false},
      {"not in, other value", {"zone", Op::not_in, {"b"}}, true},
      {"not in, key absent", {"none", Op::not_in, {"a"}}, true},
      {"exists", {"zone", Op::exists, {}}, true},
      {"exists, key absent", {"none", Op::exists, {}}, false},
      {"does not exist", {"zone", Op::does_not_exist, {}}, false},
      {"does not exist, key absent", {"none", Op::does_not_exist, {}}, true},
      {"greater", {"cores", Op::gt, {"3"}}, true},
      {"greater, equal", {"cores", Op::gt, {"4"}}, false},
      {"greater by number, not by text", {"cores", Op::lt, {"10"}}, true},
      {"less, negative bound", {"cores", Op::gt, {"-1"}}, true},
      {"signed label", {"plus", Op::gt, {"4"}}, true},
      {"label is no number", {"text", Op::gt, {"1"}}, false},
      {"bound is no number", {"cores", Op::gt, {"x"}}, false},
      {"greater, key absent", {"none", Op::gt, {"1"}}, false},
      {"less, key absent", {"none", Op::lt, {"1"}}, false},
      {"greater, two bounds", {"cores", Op::gt, {"1", "2"}}, false},
      {"bound beyond int64", {"cores", Op::lt, {"9223372036854775808"}}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(matches(c.requirement, kLabels), c.want) << c.name;
}

TEST(LabelSelector, NeedsAllAndMatchesAllWhenEmpty) {
  EXPECT_TRUE(matches(LabelSelector{}, kLabels));
  EXPECT_TRUE(matches(LabelSelector{}, {}));
  EXPECT_TRUE(matches(LabelSelector{{{"zone", Op::in, {"a"}}, {"cores", Op::exists, {}}}}, kLabels));
  EXPECT_FALSE(matches(LabelSelector{{{"zone", Op::in, {"a"}}, {"none", Op::exists, {}}}}, kLabels));
}

TEST(NodeSelector, NeedsOneTermAndMatchesNothingWhenEmpty) {
  const Requirement good{"zone", Op::in, {"a"}};
  const Requirement bad{"zone", Op::in, {"b"}};
  const auto match = [](const std::vector<NodeSelectorTerm>& terms) {
    return matches(NodeSelector{terms}, kLabels, "n1");
  };
  EXPECT_FALSE(match({}));
  EXPECT_FALSE(match({NodeSelectorTerm{}}));
  EXPECT_TRUE(match({NodeSelectorTerm{}, {{good}, {}}}));
  EXPECT_TRUE(match({{{bad}, {}}, {{good}, {}}}));
  EXPECT_FALSE(match({{{bad, good}, {}}}));
}

TEST(NodeSelector, MatchesTheNodeByName) {
  const auto field = [](const std::string& key, Op op, const std::vector<std::string>& values) {
    return matches(NodeSelector{{{{}, {Requirement{key, op, values}}}}}, {}, "n1");
  };
  EXPECT_TRUE(field("metadata.name", Op::in, {"n1"}));
  EXPECT_FALSE(field("metadata.name", Op::in, {"n2"}));
  EXPECT_TRUE(field("metadata.name", Op::not_in, {"n2"}));
  EXPECT_FALSE(field("metadata.name", Op::not_in, {"n1"}));
  EXPECT_FALSE(field("metadata.uid", Op::not_in, {"n1"}));
  EXPECT_FALSE(field("metadata.name", Op::exists, {}));
  const NodeSelectorTerm both{{{"zone", Op::in, {"b"}}}, {{"metadata.name", Op::in, {"n1"}}}};
  EXPECT_FALSE(matches(NodeSelector{{both}}, kLabels, "n1"));
}

TEST(Toleration, ToleratesAsKubernetesDoes) {
  const Taint taint{"key", "value", TaintEffect::no_schedule};
  struct Case {
    const char* name;
    Toleration toleration;
    bool want;
  };
  using T = Toleration::Operator;
  const Case cases[] = {
      {"equal", {"key", T::equal, "value", TaintEffect::no_schedule, {}}, true},
      {"other value", {"key", T::equal, "other", TaintEffect::no_schedule, {}}, false},
      {"exists", {"key", T::exists, "", TaintEffect::no_schedule, {}}, true},
      {"other key", {"other", T::exists, "", {}, {}}, false},
      {"other effect", {"key", T::exists, "", TaintEffect::no_execute, {}}, false},
      {"every effect", {"key", T::equal, "value", {}, {}}, true},
      {"every key", {"", T::exists, "", {}, {}}, true},
      {"every key of an effect", {"", T::exists, "", TaintEffect::no_execute, {}}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(tolerates(c.toleration, taint), c.want) << c.name;
  EXPECT_FALSE(tolerates(std::vector<Toleration>{}, taint));
  EXPECT_TRUE(tolerates({cases[1].toleration, cases[0].toleration}, taint));
}

TEST(Kinds, AreFoundByEachOfTheirNames) {
  for (const char* text : {"PersistentVolumeClaim", "persistentvolumeclaim", "persistentvolumeclaims", "pvc"}) {
    ASSERT_NE(find_kind(text), nullptr) << text;
    EXPECT_EQ(find_kind(text)->kind, Kind::persistent_volume_claim);
  }
  EXPECT_EQ(find_kind("po")->kind, Kind::pod);
  EXPECT_EQ(find_kind("Widget"), nullptr);
  EXPECT_EQ(find_kind(""), nullptr);
  for (const KindName& name : kinds()) EXPECT_EQ(describe(name.kind).plural, name.plural);
}

TEST(Names, AreValidTopicLevels) {
  for (const char* name : {"a", "0", "web-1", "node.example.com", "a--b"}) EXPECT_TRUE(is_valid_name(name)) << name;
  for (const char* name : {"", "-a", "a-", ".", "..", "a/b", "a+", "#", "A", "a_b", "a b", "\xC3\xA9"}) {
    EXPECT_FALSE(is_valid_name(name)) << name;
  }
  EXPECT_TRUE(is_valid_name(std::string(253, 'a')));
  EXPECT_FALSE(is_valid_name(std::string(254, 'a')));
}

}  // namespace
}  // namespace berth
