#include "core/workloads/selector_index.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

LabelSelector asking(const std::string& key, std::vector<std::string> values) {
  return {{{key, Requirement::Operator::in, std::move(values)}}};
}

TEST(SelectorIndex, FindsTheSelectorsOfANamespaceThatMatch) {
  SelectorIndex index;
  index.add("a", Text("u1"), asking("app", {"web"}));
  EXPECT_TRUE(index.selects("a", {{"app", "web"}, {"tier", "front"}}));
  EXPECT_FALSE(index.selects("a", {{"app", "db"}}));
  EXPECT_FALSE(index.selects("b", {{"app", "web"}}));
  EXPECT_FALSE(index.selects("a", {}));
}

TEST(SelectorIndex, AsksAllThatASelectorRequires) {
  SelectorIndex index;
  LabelSelector both = asking("app", {"web"});
  both.requirements.push_back({"tier", Requirement::Operator::exists, {}});
  index.add("a", Text("u1"), both);
  EXPECT_FALSE(index.selects("a", {{"app", "web"}}));
  EXPECT_TRUE(index.selects("a", {{"app", "web"}, {"tier", "front"}}));
}

TEST(SelectorIndex, FindsSelectorsThatAskForNoLabelWithOneValue) {
  SelectorIndex index;
  index.add("a", Text("u1"), asking("app", {"web", "db"}));
  EXPECT_TRUE(index.selects("a", {{"app", "db"}}));
  EXPECT_FALSE(index.selects("a", {{"app", "cache"}}));
}

TEST(SelectorIndex, ForgetsTheSelectorOfOneOwnerAlone) {
  SelectorIndex index;
  index.add("a", Text("u1"), asking("app", {"web"}));
  index.add("a", Text("u2"), asking("app", {"web"}));
  index.remove("a", Text("u1"), asking("app", {"web"}));
  EXPECT_TRUE(index.selects("a", {{"app", "web"}}));
  index.remove("a", Text("u2"), asking("app", {"web"}));
  EXPECT_FALSE(index.selects("a", {{"app", "web"}}));
}

}  // namespace
}  // namespace berth
