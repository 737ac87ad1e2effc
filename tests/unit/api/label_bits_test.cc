#include "core/api/label_bits.h"

#include <gtest/gtest.h>

#include "core/api/metadata.h"
#include "core/random.h"

namespace berth {

namespace {

Labels random_labels(Random& random) {
  Labels labels;
  for (std::uint64_t more = random.below(5); more > 0; --more) {
    labels["key-" + std::to_string(random.below(6))] = std::to_string(random.below(4));
  }
  return labels;
}

LabelSelector random_selector(Random& random) {
  using Operator = Requirement::Operator;
  static const std::vector<Operator> kOperators{
      Operator::in, Operator::not_in, Operator::exists, Operator::does_not_exist, Operator::gt, Operator::lt};
  LabelSelector selector;
  for (std::uint64_t more = random.below(3); more > 0; --more) {
    Requirement& made = selector.requirements.emplace_back();
    made.key = "key-" + std::to_string(random.below(6));
    made.op = kOperators[random.below(kOperators.size())];
    const bool has_values = made.op != Operator::exists && made.op != Operator::does_not_exist;
    for (std::uint64_t values = has_values ? 1 + random.below(2) : 0; values > 0; --values) {
      made.values.push_back(std::to_string(random.below(4)));
    }
  }
  return selector;
}

TEST(LabelBits, HaveAllThatASelectorAsksWhereverItMatches) {
  Random random(1);
  int matched = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Labels labels = random_labels(random);
    const LabelSelector selector = random_selector(random);
    if (!matches(selector, labels)) continue;
    ++matched;
    ASSERT_TRUE(LabelBits::of(labels).has_all(LabelBits::asked_by(selector))) << i;
  }
  EXPECT_GT(matched, 2'000);
}

TEST(LabelBits, TellMostWorkloadsApart) {
  constexpr int kApps = 400;
  int passed = 0;
  for (int asked = 0; asked < kApps; ++asked) {
    LabelSelector selector;
    selector.requirements.push_back({"app", Requirement::Operator::in, {"app-" + std::to_string(asked)}});
    const LabelBits bits = LabelBits::asked_by(selector);
    for (int app = 0; app < kApps; ++app) {
      const Labels labels{{"app", "app-" + std::to_string(app)}, {"team", "a"}, {"tier", std::to_string(app % 3)}};
      passed += LabelBits::of(labels).has_all(bits) ? 1 : 0;
    }
  }
  EXPECT_LT(passed, kApps + kApps * kApps / 50);
}

TEST(LabelBits, InCommonAreAskedByBoth) {
  LabelSelector one;
  one.requirements.push_back({"app", Requirement::Operator::in, {"web"}});
  LabelSelector other;
  other.requirements.push_back({"app", Requirement::Operator::in, {"db"}});
  const LabelBits common = LabelBits::asked_by(one).common_with(LabelBits::asked_by(other));
  EXPECT_TRUE(LabelBits::of({{"app", "web"}}).has_all(common));
  EXPECT_TRUE(LabelBits::of({{"app", "db"}}).has_all(common));
  EXPECT_FALSE(LabelBits::of({{"tier", "db"}}).has_all(common));
}

}  // namespace

}  // namespace berth
