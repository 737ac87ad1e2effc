// What holds of a rollout by a plan whatever nodes do: random fleets, in which nodes fall silent and come back, and
// images are broken on some of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/unit/controllers/daemon_fleet.h"

namespace berth {
namespace {

constexpr int kNodes = 8;
constexpr int kOfflineDeadline = 40;
constexpr int kTrial = 15;  // progressDeadlineSeconds
constexpr int kWaves = 3;

class RandomFleet {
 public:
  explicit RandomFleet(std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < kNodes; ++i) {
      names_.push_back("n" + std::to_string(i));
      fleet_.add_node(names_.back(), i < 2 ? Labels{{"site", "lab"}} : Labels{});
    }
    max_unavailable_ = 1 + static_cast<int>(random_.below(3));
    fleet_.create_set(R"({"waves":[{"name":"canary","selector":{"matchLabels":{"site":"lab"}},"soakSeconds":5},
                          {"name":"half","upTo":"50%"},{"name":"rest"}],"healthySeconds":3,
                          "progressDeadlineSeconds":15,"offlineDeadlineSeconds":40})",
                      "\"maxUnavailable\":" + std::to_string(max_unavailable_));
    fleet_.advance(80);
  }

  void set_image(const std::string& image) {
    fleet_.set_image(image);
    wave_ = -1;
  }
  // One second, before which nodes fall silent or come back.
  void live() {
    for (const std::string& name : names_) {
      if (random_.chance(1, 60)) fleet_.silence(name);
      if (random_.chance(1, 25)) fleet_.wake(name);
    }
    fleet_.advance(1);
    excuse();
  }
  // Nodes without a ready pod, apart from those that were passed over and are not back yet.
  int unavailable() {
    const std::set<std::string> ready = fleet_.ready_nodes();
    return static_cast<int>(std::count_if(names_.begin(), names_.end(), [&](const std::string& name) {
      return !ready.contains(name) && !excused_.contains(name);
    }));
  }
  void wake_all() {
    for (const std::string& name : names_) fleet_.wake(name);
  }
  const std::string& any_node() { return names_[random_.below(names_.size())]; }

  void excuse() {
    if (fleet_.wave() != wave_) wave_started_ = fleet_.now();
    wave_ = fleet_.wave();
    for (const std::string& name : names_) {
      if (!fleet_.silent().contains(name)) silent_since_.erase(name);
    }
    const bool is_over = fleet_.rollout("phase") != "Progressing";
    for (const std::string& name : fleet_.silent()) {
      const int since = silent_since_.emplace(name, fleet_.now()).first->second;
      if (is_over || std::min(since, wave_started_) + kOfflineDeadline <= fleet_.now()) excused_.insert(name);
    }
    for (const std::string& name : fleet_.ready_nodes()) excused_.erase(name);
  }

  Random random_;
  DaemonFleet fleet_;
  std::vector<std::string> names_;
  int max_unavailable_ = 1;
  std::int64_t wave_ = -1;
  int wave_started_ = 0;
  std::map<std::string, int> silent_since_;
  std::set<std::string> excused_;
};

class RolloutProperty : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RolloutProperty, AWorkingRevisionReachesAllAndNeverMakesTooManyUnavailable) {
  RandomFleet random(GetParam());
  DaemonFleet& fleet = random.fleet_;
  ASSERT_EQ(fleet.rollout("phase"), "Complete");
  random.set_image("v2");
  for (int i = 0; i < 300; ++i) {
    if (i == 60) random.set_image("v3");
    random.live();
    if (fleet.rollout("phase") == "RolledBack") return;  // a node fell silent with what it had just got
    ASSERT_LE(random.unavailable(), random.max_unavailable_) << "second " << i;
  }
  EXPECT_EQ(fleet.rollout("phase"), "Complete") << fleet.rollout("message");
  random.wake_all();
  fleet.advance(4 * kNodes);
  for (const auto& [node, image] : fleet.images()) EXPECT_EQ(image, "v3") << node;
}

TEST_P(RolloutProperty, SilentNodesHoldNoWaveBeyondTheirDeadline) {
  RandomFleet random(GetParam());
  DaemonFleet& fleet = random.fleet_;
  std::set<std::string> silenced;
  for (int i = 0; i < 3; ++i) {
    silenced.insert(random.any_node());
    fleet.silence(*silenced.rbegin());
  }
  for (const std::string& name : silenced) fleet.silence(name);
  fleet.set_image("v2");
  std::int64_t wave = 0;
  int since = fleet.now();
  while (fleet.rollout("phase") == "Progressing") {
    if (fleet.wave() != wave) since = fleet.now();
    wave = fleet.wave();
    ASSERT_LE(fleet.now() - since, kOfflineDeadline + kTrial + 6 * kNodes) << fleet.rollout("message");
    fleet.advance(1);
  }
  EXPECT_EQ(fleet.rollout("phase"), "Complete");
  const auto images = fleet.images();
  for (const auto& [node, image] : images) EXPECT_EQ(image, silenced.contains(node) ? "v1" : "v2") << node;
  fleet.set_image("v3");
  random.wake_all();
  fleet.advance(kWaves * (kTrial + 6 * kNodes));
  for (const auto& [node, image] : fleet.images()) EXPECT_EQ(image, "v3") << node;
}

TEST_P(RolloutProperty, ABrokenRevisionIsAlwaysRolledBack) {
  RandomFleet random(GetParam());
  DaemonFleet& fleet = random.fleet_;
  const std::string broken = random.any_node();
  fleet.break_image(broken, "v2");
  fleet.set_image("v2");
  for (int i = 0; i < 400 && fleet.rollout("phase") == "Progressing"; ++i) random.live();
  // Complete only without the broken node, which was passed over.
  if (fleet.rollout("phase") != "RolledBack") {
    EXPECT_EQ(fleet.images().at(broken), "v1") << fleet.rollout("message");
    return;
  }
  random.wake_all();
  fleet.advance(4 * kNodes);
  for (const auto& [node, image] : fleet.images()) EXPECT_EQ(image, "v1") << node;
  EXPECT_EQ(fleet.ready_nodes().size(), std::size_t{kNodes});
}

INSTANTIATE_TEST_SUITE_P(Seeds, RolloutProperty, ::testing::Range(std::uint64_t{1}, std::uint64_t{21}));

}  // namespace
}  // namespace berth
