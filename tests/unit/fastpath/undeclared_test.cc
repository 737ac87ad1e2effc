// Plugins that declare nothing beside those that do: the decisions are those of the plugins, and no more nodes are
// asked about than can win.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/fastpath/undeclared.h"
#include "tests/unit/fastpath/both_ways.h"

namespace berth {

namespace {

using Feasible = std::vector<std::shared_ptr<const NodeInfo>>;

std::uint64_t mixed(std::uint64_t salt, std::string_view text) {
  std::uint64_t hash = 14695981039346656037u ^ salt;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash ^ hash >> 29;
}

// What no declaration covers: it changes from pod to pod.
struct Mood {
  std::uint64_t value = 0;
  int filtered = 0;  // calls
  int scored = 0;
};

struct Salt final : StateEntry {
  std::uint64_t value = 0;
  std::uint64_t feasible = 0;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Salt>(*this); }
};

class Moody : public virtual Plugin {
 public:
  explicit Moody(Mood& mood) : mood_(mood) {}

 protected:
  std::uint64_t about(const Pod& pod) const { return mixed(mood_.value, pod.uid()); }
  std::uint64_t about(const Pod& pod, const NodeInfo& node) const {
    return mixed(about(pod) + node.pods.size(), node.name());
  }
  // Of few values, of many, or the same for all nodes.
  std::int64_t score_of(const Pod& pod, const NodeInfo& node) const {
    ++mood_.scored;
    const std::uint64_t any = about(pod, node);
    switch (about(pod) % 4) {
      case 0: return static_cast<std::int64_t>(any % 101);
      case 1: return any % 8 == 0 ? 100 : 0;
      case 2: return 100;
      default: return 40 + static_cast<std::int64_t>(any % 3);
    }
  }
  // Rejects few nodes, many, or all, by the pod.
  Status filter_by(std::uint64_t salt, const NodeInfo& node) const {
    ++mood_.filtered;
    constexpr std::uint64_t kRejected[] = {0, 30, 30, 90, 97, 100};
    const std::uint64_t any = mixed(salt + node.pods.size(), node.name());
    if (any % 100 >= kRejected[salt % std::size(kRejected)]) return {};
    return any % 3 == 0 ? Status::unresolvable("moody for good") : Status::unschedulable("moody");
  }
  Mood& mood_;
};

class MoodyFilter final : public Moody, public PreFilterPlugin, public FilterPlugin {
 public:
  using Moody::Moody;
  std::string_view name() const override { return "MoodyFilter"; }
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override {
    const std::uint64_t salt = about(pod);
    if (salt % 7 == 0) return Status::skip();
    if (salt % 41 == 0) return Status::unschedulable("not in the mood");
    if (salt % 43 == 0) result.node_names = {{snapshot.nodes().front()->name()}};
    auto entry = std::make_unique<Salt>();
    entry->value = salt;
    state.write(std::move(entry));
    return {};
  }
  Status filter(CycleState& state, const Pod&, const NodeInfo& node) override {
    const auto* salt = state.read<Salt>();
    return salt == nullptr ? Status::error("PreFilter did not run") : filter_by(salt->value, node);
  }
};

class MoodyScore final : public Moody, public ScorePlugin {
 public:
  using Moody::Moody;
  std::string_view name() const override { return "MoodyScore"; }
  Status score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) override {
    score = score_of(pod, node);
    return {};
  }
};

class MoodyNormalized final : public Moody, public ScorePlugin, public NormalizeScorePlugin {
 public:
  using Moody::Moody;
  std::string_view name() const override { return "MoodyNormalized"; }
  Status score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) override {
    ++mood_.scored;
    score = static_cast<std::int64_t>(about(pod, node) % 1000) - 500;
    return {};
  }
  Status normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) override {
    const auto lower = [](const NodeScore& a, const NodeScore& b) { return a.score < b.score; };
    const auto [least, most] = std::minmax_element(scores.begin(), scores.end(), lower);
    const std::int64_t low = least->score;
    const std::int64_t span = std::max<std::int64_t>(most->score - low, 1);
    for (NodeScore& each : scores) each.score = (each.score - low) * 100 / span;
    return {};
  }
};

// Its scores depend on which nodes are feasible, through PreScore.
class MoodyPreScore final : public Moody, public PreFilterPlugin, public PreScorePlugin, public ScorePlugin {
 public:
  struct Seen final : StateEntry {
    std::uint64_t salt = 0;
    std::uint64_t feasible = 0;
    std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Seen>(*this); }
  };
  using Moody::Moody;
  std::string_view name() const override { return "MoodyPreScore"; }
  Reads reads(const Pod&, Point point) const override {
    return point == Point::pre_filter ? Reads::node : Reads::anything;
  }
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) override {
    auto seen = std::make_unique<Seen>();
    seen->salt = about(pod);
    state.write(std::move(seen));
    return {};
  }
  Status pre_score(CycleState& state, const Pod& pod, const Feasible& feasible) override {
    if (about(pod) % 4 == 0) return Status::skip();
    auto* seen = state.edit<Seen>();
    if (seen == nullptr) return Status::error("PreFilter did not run");
    for (const auto& node : feasible) seen->feasible = mixed(seen->feasible, node->name());
    return {};
  }
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override {
    const auto* seen = state.read<Seen>();
    score = static_cast<std::int64_t>((seen->salt + seen->feasible + about(pod, node)) % 101);
    return {};
  }
};

// Its Filter says what it reads, its Score does not.
class HalfDeclared final : public Moody, public FilterPlugin, public ScorePlugin {
 public:
  using Moody::Moody;
  std::string_view name() const override { return "HalfDeclared"; }
  Reads reads(const Pod&, Point point) const override { return point == Point::filter ? Reads::node : Reads::anything; }
  Status filter(CycleState&, const Pod&, const NodeInfo& node) override {
    return mixed(0, node.name()) % 5 == 0 ? Status::unschedulable("a name it does not like") : Status();
  }
  Status score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) override {
    score = score_of(pod, node);
    return {};
  }
};

// Its Filter says nothing, and its Score uses what PreFilter wrote.
class LateDeclared final : public Moody,
                           public PreFilterPlugin,
                           public FilterPlugin,
                           public PreScorePlugin,
                           public ScorePlugin {
 public:
  struct Found final : StateEntry {
    std::uint64_t salt = 0;
    bool scores = false;
    std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Found>(*this); }
  };
  using Moody::Moody;
  std::string_view name() const override { return "LateDeclared"; }
  Reads reads(const Pod&, Point point) const override {
    return point == Point::pre_score || point == Point::score ? Reads::node : Reads::anything;
  }
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) override {
    auto found = std::make_unique<Found>();
    found->salt = about(pod);
    state.write(std::move(found));
    return {};
  }
  Status filter(CycleState& state, const Pod&, const NodeInfo& node) override {
    return filter_by(state.read<Found>()->salt, node);
  }
  Status pre_score(CycleState& state, const Pod&, const Feasible&) override {
    auto* found = state.edit<Found>();
    found->scores = true;
    return found->salt % 5 == 0 ? Status::skip() : Status();
  }
  Status score(CycleState& state, const Pod&, const NodeInfo& node, std::int64_t& score) override {
    const auto* found = state.read<Found>();
    if (!found->scores) return Status::error("PreScore did not run");
    score = static_cast<std::int64_t>(mixed(found->salt, node.name()) % 101);
    return {};
  }
};

// It could sum, but does not say so.
class SilentSums final : public Moody, public FilterPlugin, public ScorePlugin, public SummingPlugin {
 public:
  using Moody::Moody;
  std::string_view name() const override { return "SilentSums"; }
  Status filter(CycleState&, const Pod& pod, const NodeInfo& node) override { return filter_by(about(pod), node); }
  Status score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) override {
    score = score_of(pod, node);
    return {};
  }
  bool reads_labels(const Pod&, const Snapshot&) const override { return false; }
  void begin_sums(CycleState&, const Pod&, const Snapshot&, Domains&) override { ADD_FAILURE(); }
  bool sums_hold(const CycleState&, const Pod&) const override { return true; }
  void sum_node(CycleState&, const Pod&, const Node&, std::int64_t) override { ADD_FAILURE(); }
  bool counts_pod(CycleState&, const Pod&, const Pod&) const override { return false; }
  void sum_pods(CycleState&, const Pod&, const Node&, const Pod&, std::int64_t, Domains&) override { ADD_FAILURE(); }
  void add_traits(const CycleState&, const Pod&, const NodeInfo&, const Domains&, Traits&) const override {}
  bool skips_filter(const CycleState&, const Pod&) const override { return false; }
  Status pre_score_sums(CycleState&, const Pod&, const std::vector<AlikeNodes>&, const Domains&) override { return {}; }
};

// The default profile with these plugins, of weights 1, 3, 5 ...
class UndeclaredTest : public BothWays {
 protected:
  void use(const std::vector<std::string>& names) {
    Registry registry = in_tree_registry();
    add<MoodyFilter>(registry, "MoodyFilter");
    add<MoodyScore>(registry, "MoodyScore");
    add<MoodyNormalized>(registry, "MoodyNormalized");
    add<MoodyPreScore>(registry, "MoodyPreScore");
    add<HalfDeclared>(registry, "HalfDeclared");
    add<LateDeclared>(registry, "LateDeclared");
    add<SilentSums>(registry, "SilentSums");
    Profile profile = default_profile();
    std::int64_t weight = 1;
    for (const std::string& name : names) profile.enable(name, std::exchange(weight, weight + 2));
    make_framework(registry, profile);
  }

  template <class P>
  void add(Registry& registry, std::string_view name) {
    ASSERT_TRUE(registry
                    .add(name, [this](const Json&,
                                      Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<P>(mood)); })
                    .is_success());
  }

  void change_promises() override {
    mood.value = random.below(50);
    if (preempts) BothWays::change_promises();
  }

  Mood mood;
};

struct Company {
  const char* name;
  std::vector<std::string> plugins;
};

class UndeclaredBothWays : public UndeclaredTest, public ::testing::WithParamInterface<Company> {
 protected:
  void SetUp() override {
    UndeclaredTest::SetUp();
    use(GetParam().plugins);
    changes_promises = true;
  }
  int fast_decisions() { return declined[""]; }
};

TEST_P(UndeclaredBothWays, AreAskedInAFleetThatChanges) {
  play(21, 40, 500);
  EXPECT_GT(fast_decisions(), rounds(250));
}

TEST_P(UndeclaredBothWays, AreAskedWhereEveryPodIsTheFirstOfItsClass) {
  all_new = true;
  play(22, 40, 400);
  EXPECT_GT(fast_decisions(), rounds(200));
}

TEST_P(UndeclaredBothWays, AreAskedWhereEveryPodHasVolumes) {
  only_volumes = true;
  play(23, 30, 300);
  EXPECT_GT(fast_decisions(), rounds(60));
}

TEST_P(UndeclaredBothWays, AreAskedWherePodsPreempt) {
  preempts = true;
  is_full_from_the_start = true;
  play(24, 30, 300);
  EXPECT_GT(preempted, rounds(20));
}

const Company kCompanies[] = {
    {"Filter", {"MoodyFilter"}},
    {"Score", {"MoodyScore"}},
    {"NormalizedScore", {"MoodyNormalized"}},
    {"PreScore", {"MoodyPreScore"}},
    {"HalfDeclared", {"HalfDeclared"}},
    {"LateDeclared", {"LateDeclared"}},
    {"SilentSums", {"SilentSums"}},
    {"FilterAndScore", {"MoodyFilter", "MoodyScore"}},
    {"FilterAndNormalizedScore", {"MoodyFilter", "MoodyNormalized"}},
    {"FilterAndPreScore", {"MoodyFilter", "MoodyPreScore"}},
    {"Everybody",
     {"HalfDeclared", "MoodyScore", "LateDeclared", "MoodyFilter", "MoodyPreScore", "MoodyNormalized", "SilentSums"}},
};

INSTANTIATE_TEST_SUITE_P(Companies, UndeclaredBothWays, ::testing::ValuesIn(kCompanies),
                         [](const auto& each) { return std::string(each.param.name); });

// Nodes of different totals, none of which changes: how many of them a decision asks about.
class UndeclaredCalls : public UndeclaredTest {
 protected:
  static constexpr int kNodes = 100;
  void SetUp() override {
    UndeclaredTest::SetUp();
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = "node-" + std::to_string(i);
      cache.set_node(share(make_node(name, "200", "800Gi", "110")));
      cache.confirm(share(make_pod("on-" + name, resources({{"cpu", std::to_string(i * 2)}}))), name);
    }
    cache.update_snapshot(handle.snapshot_of_test);
  }

  Decision decide(const char* name) {
    mood.filtered = mood.scored = 0;
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    CycleState state;
    const Pod pod = make_pod(name, resources({{"cpu", "1"}}));
    ScheduleResult result = schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, drawn_path.get());
    EXPECT_EQ(result.declined, "");
    return std::move(result.decision);
  }

  // A mood in which the pod sees the plugins answer so; `test` is given what the plugins make of pod and mood.
  template <class Test>
  void find_mood(const char* name, Test test) {
    const Pod pod = make_pod(name);
    while (!test(mixed(mood.value, pod.uid()))) ++mood.value;
  }
};

TEST_F(UndeclaredCalls, OfScoreEndWhereNobodyFurtherDownCanWin) {
  use({"MoodyScore"});
  for (const char* pod : {"first", "second", "third"}) {               // by scan, then by view
    find_mood(pod, [](std::uint64_t salt) { return salt % 4 == 2; });  // 100 for every node
    EXPECT_EQ(decide(pod).node, "node-0") << pod;
    EXPECT_LT(mood.scored, 5) << pod << ": node-0 has the highest total and the highest score";
  }
}

TEST_F(UndeclaredCalls, OfScoreGoOnWhileSomebodyMayWin) {
  use({"MoodyScore"});
  for (const char* pod : {"first", "second", "third"}) {
    find_mood(pod, [](std::uint64_t salt) { return salt % 4 == 3; });  // 40 to 42
    decide(pod);
    EXPECT_GT(mood.scored, 20) << pod << ": 60 more would make up for as much";
    EXPECT_LT(mood.scored, kNodes) << pod;
  }
}

TEST_F(UndeclaredCalls, OfANormalizedScoreAreForEveryFeasibleNode) {
  use({"MoodyNormalized"});
  for (const char* pod : {"first", "second", "third"}) {
    const Decision decision = decide(pod);
    EXPECT_EQ(mood.scored, kNodes) << pod;
    EXPECT_EQ(decision.feasible, static_cast<std::size_t>(kNodes)) << pod;
  }
}

TEST_F(UndeclaredCalls, OfFilterEndWithTheFirstThatFits) {
  use({"MoodyFilter"});
  for (const char* pod : {"first", "second", "third"}) {
    find_mood(pod, [](std::uint64_t salt) {  // rejects nobody
      return salt % 7 != 0 && salt % 41 != 0 && salt % 43 != 0 && salt % 6 == 0;
    });
    const Decision decision = decide(pod);
    EXPECT_EQ(decision.node, "node-0") << pod;
    EXPECT_LT(mood.filtered, 5) << pod;
    EXPECT_EQ(decision.evaluated, static_cast<std::size_t>(mood.filtered)) << pod << ": the others were not asked";
  }
}

TEST_F(UndeclaredCalls, OfFilterGoOnInTheOrderOfTotals) {
  use({"MoodyFilter"});
  for (const char* pod : {"first", "second", "third"}) {
    find_mood(pod, [](std::uint64_t salt) {  // rejects 97 of 100
      return salt % 7 != 0 && salt % 41 != 0 && salt % 43 != 0 && salt % 6 == 4;
    });
    const Decision decision = decide(pod);
    ASSERT_NE(decision.node, "") << pod;
    const int last = std::stoi(decision.node.substr(std::string("node-").size()));
    EXPECT_GE(mood.filtered, last + 1) << pod << ": those before it were rejected";
    EXPECT_LE(mood.filtered, last + 5) << pod << ": those after it were not asked";
  }
}

// Scores a node by one of its labels.
class LabelScore : public ScorePlugin {
 public:
  LabelScore(std::string_view label, Reads reads) : label_(label), reads_(reads) {}
  std::string_view name() const override { return label_; }
  Reads reads(const Pod&, Point) const override { return reads_; }
  Status score(CycleState&, const Pod&, const NodeInfo& node, std::int64_t& score) override {
    score = std::stoi(node.node->metadata.labels.at(std::string(label_)));
    return {};
  }

 private:
  std::string_view label_;
  Reads reads_;
};

// The same relative to the highest.
class RelativeLabelScore final : public LabelScore, public NormalizeScorePlugin {
 public:
  using LabelScore::LabelScore;
  Status normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) override {
    std::int64_t most = 1;
    for (const NodeScore& each : scores) most = std::max(most, each.score);
    for (NodeScore& each : scores) each.score = each.score * kMaxScore / most;
    return {};
  }
};

// Rejects nodes that have the label.
class LabelFilter final : public FilterPlugin {
 public:
  LabelFilter(std::string_view label, Reads reads) : label_(label), reads_(reads) {}
  std::string_view name() const override { return label_; }
  Reads reads(const Pod&, Point) const override { return reads_; }
  Status filter(CycleState&, const Pod&, const NodeInfo& node) override {
    return node.node->metadata.labels.contains(std::string(label_)) ? Status::unschedulable("labelled") : Status();
  }

 private:
  std::string_view label_;
  Reads reads_;
};

// Plugins that go by labels, and nothing else.
class UndeclaredByLabels : public UndeclaredTest {
 protected:
  template <class P>
  void add_plugin(std::string_view label, Reads reads) {
    const auto make = [label, reads](const Json&, Handle&) {
      return Result<std::unique_ptr<Plugin>>(std::make_unique<P>(label, reads));
    };
    ASSERT_TRUE(registry.add(label, make).is_success());
    profile.enable(label);
  }
  void make_profile() {
    for (const char* plugin : {"PrioritySort", "NodeName", "DefaultBinder"}) profile.enable(plugin);
    make_framework(registry, profile);
  }
  void add_node(const std::string& name, const std::map<std::string, int>& labels) {
    Node node = make_node(name);
    for (const auto& [key, value] : labels) node.metadata.labels[key] = std::to_string(value);
    cache.set_node(share(std::move(node)));
    cache.update_snapshot(handle.snapshot_of_test);
  }
  std::string choose(std::uint64_t seed, NodeEvaluator* evaluator) {
    Random from_seed(seed);
    NodeSearch search{&handle.nominator_of_test, {}, static_cast<std::size_t>(seed % 4), &from_seed};
    CycleState state;
    const Pod pod = make_pod("pod-" + std::to_string(seed));
    return schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, evaluator).decision.node;
  }
  Registry registry = in_tree_registry();
  Profile profile;
};

TEST_F(UndeclaredByLabels, TiesAreDrawnAmongAsByThePlugins) {
  add_plugin<LabelScore>("declared", Reads::node);
  add_plugin<LabelScore>("undeclared", Reads::anything);
  make_profile();
  add_node("behind-by-all", {{"declared", 0}, {"undeclared", 100}});
  add_node("first", {{"declared", 60}, {"undeclared", 40}});
  add_node("lower", {{"declared", 50}, {"undeclared", 49}});
  add_node("behind", {{"declared", 10}, {"undeclared", 90}});
  std::map<std::string, int> chosen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::string node = choose(seed, drawn_path.get());
    ASSERT_EQ(node, choose(seed, nullptr)) << seed;
    ++chosen[node];
  }
  EXPECT_EQ(chosen.size(), 3u);
  EXPECT_GT(chosen["behind-by-all"], 30) << "its score, 100, makes up for exactly as much as it can";
  EXPECT_EQ(chosen["lower"], 0);
}

TEST_F(UndeclaredByLabels, AFilterMayChangeWhatScoresAreRelativeTo) {
  add_plugin<LabelFilter>("rejected", Reads::anything);
  add_plugin<RelativeLabelScore>("relative", Reads::node);
  add_plugin<LabelScore>("own", Reads::node);
  make_profile();
  add_node("out", {{"relative", 100}, {"own", 100}, {"rejected", 1}});
  add_node("high", {{"relative", 50}, {"own", 0}});
  add_node("own", {{"relative", 25}, {"own", 40}});
  for (std::uint64_t seed = 0; seed < 4; ++seed) {  // by scan, then by view
    EXPECT_EQ(choose(seed, nullptr), "high");
    EXPECT_EQ(choose(seed, drawn_path.get()), "high") << "100 and 0 beat 50 and 40; beside the one out it is 50 to 65";
  }
}

TEST(UndeclaredPlugins, AreNoneOfTheDefaultProfile) {
  FakeHandle handle;
  const auto framework = Framework::make(in_tree_registry(), default_profile(), handle);
  ASSERT_TRUE(framework.has_value());
  EXPECT_FALSE(UndeclaredPlugins::of(**framework, make_pod("p"), {}).any());
}

}  // namespace

}  // namespace berth
