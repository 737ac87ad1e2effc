// The index of volumes, updated with every change, equals a freshly built one and reports on which hosts an answer may
// differ.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/api/node.h"
#include "core/api/volume.h"
#include "core/framework/change_log.h"
#include "core/random.h"
#include "plugins/volume_index.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

constexpr int kNodes = 6;
constexpr int kVolumes = 20;
constexpr int kClaims = 5;

class CountedVolumes final : public Lister {
 public:
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string&) const override { return nullptr; }
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override {
    const auto found = volumes.find(name);
    return found == volumes.end() ? nullptr : found->second;
  }
  std::shared_ptr<const StorageClass> storage_class(const std::string&) const override { return nullptr; }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override {
    ++times_listed;
    std::vector<std::shared_ptr<const PersistentVolume>> found;
    for (const auto& [key, each] : volumes) {
      if (each->storage_class_name == name) found.push_back(each);
    }
    return found;
  }
  const ChangeLog* volume_changes() const override { return is_logged ? &changes : nullptr; }
  std::map<std::string, std::shared_ptr<const PersistentVolume>> volumes;
  ChangeLog changes;
  bool is_logged = false;
  mutable int times_listed = 0;
};

class VolumeIndexTest : public ::testing::Test {
 protected:
  static std::string host(std::uint64_t number) { return "n" + std::to_string(number); }

  void change(Random& random) {
    const std::string name = "v" + std::to_string(random.below(kVolumes));
    const std::string claim = "default/c" + std::to_string(random.below(kClaims));
    const std::uint64_t what = random.below(6);
    if (what == 4) {
      assumed.assume(name, claim, claim);
    } else if (what == 5) {
      assumed.drop(claim);
    } else if (what == 3) {
      lister.volumes.erase(name);
    } else {
      PersistentVolume volume;
      volume.metadata.name = name;
      volume.storage_class_name = random.chance(1, 8) ? "other" : "local";
      volume.capacity = Quantity(static_cast<std::int64_t>(1 + random.below(4)));
      volume.phase = random.chance(1, 8) ? "Released" : "Available";
      if (random.chance(1, 6)) volume.claim_ref = claim;
      NodeSelectorTerm term;
      term.match_expressions.push_back(
          {"kubernetes.io/hostname", Requirement::Operator::in, {host(random.below(kNodes))}});
      if (random.chance(1, 4)) term.match_expressions[0].values.push_back(host(random.below(kNodes)));
      if (random.chance(1, 12)) term.match_expressions[0] = {"zone", Requirement::Operator::in, {"z1"}};
      if (!random.chance(1, 20)) volume.node_affinity = NodeSelector{{term}};
      lister.volumes[name] = std::make_shared<const PersistentVolume>(std::move(volume));
    }
    lister.changes.note(name);
  }

  PersistentVolumeClaim claim(int number) const {
    PersistentVolumeClaim made;
    made.metadata.name = "c" + std::to_string(number);
    made.metadata.namespace_ = "default";
    made.request = Quantity(1 + number % 3);
    return made;
  }

  // What each claim would get on each node, by node.
  std::vector<std::string> answers(const VolumeIndex& index) const {
    std::vector<std::string> all;
    for (int number = 0; number < kNodes; ++number) {
      Node node = make_node(host(static_cast<std::uint64_t>(number)));
      node.metadata.labels["zone"] = "z" + std::to_string(number % 2);
      std::string text;
      for (int each = 0; each < kClaims; ++each) {
        const auto free = index.smallest_for(claim(each), node, {});
        const auto next = index.smallest_for(claim(each), node, {free == nullptr ? "" : free->metadata.name});
        for (const auto& found : {free, next}) text += (found == nullptr ? "-" : found->metadata.name) + " ";
      }
      all.push_back(text);
    }
    return all;
  }

  void run_changes(std::uint64_t seed, int changes) {
    Random random(seed);
    VolumeIndex index("local");
    std::uint64_t seen = 0;
    std::vector<std::string> before = answers(index);
    int reported_by_host = 0;
    for (int turn = 0; turn < rounds(changes); ++turn) {
      for (std::uint64_t number = random.below(4); number > 0; --number) change(random);
      index.follow(lister, assumed);
      VolumeIndex fresh("local");
      fresh.follow(lister, assumed);
      const std::vector<std::string> now = answers(index);
      ASSERT_EQ(now, answers(fresh)) << "turn " << turn;
      for (int each = 0; each < kClaims; ++each) {
        ASSERT_EQ(index.reserved_for(claim(each)), fresh.reserved_for(claim(each))) << "turn " << turn;
      }
      std::vector<std::string> hosts;
      if (index.changed_since(seen, hosts)) {
        ++reported_by_host;
        for (std::size_t node = 0; node < now.size(); ++node) {
          const bool reported = std::find(hosts.begin(), hosts.end(), host(node)) != hosts.end();
          ASSERT_TRUE(reported || now[node] == before[node]) << "turn " << turn << ", node " << node;
        }
      }
      before = now;
    }
    EXPECT_GT(reported_by_host, rounds(changes) / 2);
  }

  CountedVolumes lister;
  AssumedVolumes assumed;
};

TEST_F(VolumeIndexTest, EqualsAFreshIndexAfterEveryChange) {
  lister.is_logged = true;
  run_changes(1, 2000);
}

TEST_F(VolumeIndexTest, FindsChangesWithoutALog) { run_changes(2, 1000); }

TEST_F(VolumeIndexTest, BuiltInPartsIsTheSameWhateverHappensInBetween) {
  lister.is_logged = true;
  Random random(5);
  for (int time = 0; time < rounds(300); ++time) {
    for (int changes = 0; changes < 40; ++changes) change(random);
    VolumeIndex index("local");
    int parts = 1;
    while (index.build(lister, assumed, 1 + random.below(3))) {
      ++parts;
      for (std::uint64_t changes = random.below(3); changes > 0; --changes) change(random);
      if (random.chance(1, 16)) break;
    }
    ASSERT_GE(parts, 2);
    index.follow(lister, assumed);
    VolumeIndex fresh("local");
    fresh.follow(lister, assumed);
    ASSERT_EQ(answers(index), answers(fresh)) << "time " << time;
    for (int each = 0; each < kClaims; ++each) {
      ASSERT_EQ(index.reserved_for(claim(each)), fresh.reserved_for(claim(each))) << "time " << time;
    }
  }
}

TEST_F(VolumeIndexTest, LooksAtNoVolumesButThoseThatChanged) {
  lister.is_logged = true;
  VolumeIndex index("local");
  Random random(4);
  for (int turn = 0; turn < 1000; ++turn) {
    change(random);
    index.follow(lister, assumed);
  }
  EXPECT_EQ(lister.times_listed, 1);
  for (std::size_t number = 0; number <= ChangeLog::kKept; ++number) change(random);
  index.follow(lister, assumed);
  EXPECT_EQ(lister.times_listed, 2) << "more than the log keeps";
}

// However many changes there were before: the oldest are forgotten.
TEST_F(VolumeIndexTest, ReportsTheChangedHostsToAReaderOfEveryChange) {
  VolumeIndex index("local");
  lister.is_logged = true;
  std::uint64_t seen = 0;
  for (int change = 0; change < 3 * 4096; ++change) {
    PersistentVolume volume;
    volume.metadata.name = "v";
    volume.storage_class_name = "local";
    volume.capacity = Quantity(1 + change % 2);
    volume.phase = "Available";
    NodeSelectorTerm term;
    term.match_expressions.push_back({"kubernetes.io/hostname", Requirement::Operator::in, {host(change % 5)}});
    volume.node_affinity = NodeSelector{{term}};
    lister.volumes["v"] = std::make_shared<const PersistentVolume>(std::move(volume));
    lister.changes.note("v");
    index.follow(lister, assumed);
    std::vector<std::string> hosts;
    ASSERT_TRUE(index.changed_since(seen, hosts)) << change;
    EXPECT_EQ(hosts.back(), host(change % 5));
  }
}

TEST_F(VolumeIndexTest, ReportsAllHostsToAReaderThatFellBehind) {
  VolumeIndex index("local");
  std::uint64_t seen = index.seen();
  Random random(3);
  for (int turn = 0; turn < 5000; ++turn) {
    change(random);
    index.follow(lister, assumed);
  }
  std::vector<std::string> hosts;
  EXPECT_FALSE(index.changed_since(seen, hosts));
  EXPECT_TRUE(index.changed_since(seen, hosts));
  EXPECT_TRUE(hosts.empty());
}

}  // namespace
}  // namespace berth
