// The warnings about plugins that leave out a declaration.
#include <gtest/gtest.h>

#include "tests/unit/scheduler/quiet_host.h"

namespace berth {
namespace {

// Declares whatever the test says.
class Declaring final : public FilterPlugin, public PreScorePlugin, public ScorePlugin, public NormalizeScorePlugin {
 public:
  explicit Declaring(const std::map<Point, Reads>& declared) : declared_(declared) {}
  std::string_view name() const override { return "Declaring"; }
  Reads reads(const Pod&, Point point) const override {
    const auto found = declared_.find(point);
    return found == declared_.end() ? Reads::anything : found->second;
  }
  Status filter(CycleState&, const Pod&, const NodeInfo&) override { return {}; }
  Status pre_score(CycleState&, const Pod&, const std::vector<std::shared_ptr<const NodeInfo>>&) override { return {}; }
  Status score(CycleState&, const Pod&, const NodeInfo&, std::int64_t&) override { return {}; }
  Status normalize(CycleState&, const Pod&, std::vector<NodeScore>&) override { return {}; }

 private:
  const std::map<Point, Reads>& declared_;
};

class Lines final : public Log {
 public:
  void write(Level level, std::string_view event, std::initializer_list<Field> fields) override {
    std::string line = level == Level::warn ? "warn " + std::string(event) : std::string(event);
    for (const Field& field : fields) line += "|" + std::string(field.key) + "=" + field.value;
    lines.push_back(std::move(line));
  }
  std::vector<std::string> lines;
};

class DeclinesAll final : public NodeEvaluator {
 public:
  Evaluation evaluate(const NodeQuery&) override { return Evaluation::decline("not now"); }
};

class DeclarationsTest : public ::testing::Test {
 protected:
  // The log after adding a profile with the plugin.
  std::vector<std::string> warnings(bool with_evaluator = true) {
    ScriptedFramework scripted(std::vector<std::string>{});
    CHECK(scripted.registry
              .add("Declaring",
                   [this](const Json&, Handle&) {
                     return Result<std::unique_ptr<Plugin>>(std::make_unique<Declaring>(declared));
                   })
              .is_success());
    CHECK(scripted.registry.merge(binder()).is_success());
    scripted.profile.enable("Declaring").enable("Binder");
    Lines log;
    Scheduler::Options options;
    if (with_evaluator) options.evaluator = std::make_unique<DeclinesAll>();
    options.log = &log;
    Scheduler scheduler(clock, lister, host, std::move(options));
    EXPECT_TRUE(scheduler.add_profile(scripted.registry, scripted.profile).is_success());
    return log.lines;
  }
  static Registry binder() {
    class Binder final : public BindPlugin {
     public:
      std::string_view name() const override { return "Binder"; }
      Status bind(CycleState&, const Pod&, const std::string&) override { return {}; }
    };
    Registry registry;
    CHECK(registry
              .add("Binder",
                   [](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<Binder>()); })
              .is_success());
    return registry;
  }
  QuietHost host;
  FakeClock clock;
  FakeVolumes lister;
  std::map<Point, Reads> declared;
};

TEST_F(DeclarationsTest, ThatAreMissingAreWarnedOfWithTheirCost) {
  EXPECT_EQ(
      warnings(),
      std::vector<std::string>{
          "warn plugin does not declare what it reads|profile=default-scheduler|plugin=Declaring"
          "|points=Filter, PreScore, Score"
          "|cost=Filter runs for every pod, on nodes by descending score until the best one is certain; PreScore runs "
          "for every pod, over all feasible nodes; Score runs for every pod, on every feasible node, as it normalizes "
          "its scores"});
}

TEST_F(DeclarationsTest, OfOnePointLeaveTheOthersToBeWarnedOf) {
  declared = {{Point::filter, Reads::node}, {Point::score, Reads::sums}, {Point::pre_score, Reads::node}};
  const std::vector<std::string> lines = warnings();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("|points=Score|"), std::string::npos)
      << lines[0] << ": it says sums, but is no SummingPlugin";
}

TEST_F(DeclarationsTest, ThatAreCompleteAreNotWarnedOf) {
  declared = {{Point::filter, Reads::node}, {Point::pre_score, Reads::node}, {Point::score, Reads::node_and_images}};
  EXPECT_TRUE(warnings().empty());
}

TEST_F(DeclarationsTest, AreNotAskedForWithoutAnEvaluator) { EXPECT_TRUE(warnings(false).empty()); }

}  // namespace
}  // namespace berth
