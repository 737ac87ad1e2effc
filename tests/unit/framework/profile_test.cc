#include "core/framework/profile.h"
#include "core/api/pod.h"

#include <gtest/gtest.h>

#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

PluginSet set_of(const Names& enabled, Names disabled = {}) {
  PluginSet set;
  for (const std::string& name : enabled) set.enabled.push_back({name, 0, {}});
  set.disabled = std::move(disabled);
  return set;
}

Names names_of(const std::vector<ProfilePlugin>& list) {
  Names names;
  for (const ProfilePlugin& entry : list) names.push_back(entry.name);
  return names;
}

struct MergeCase {
  const char* name;
  PluginSet defaults, custom;
  Names want;
};

TEST(ProfileMerge, MergesTheCustomSetOverTheDefaults) {
  const MergeCase cases[] = {
      {"nothing custom", set_of({"A", "B"}), {}, {"A", "B"}},
      {"one more", set_of({"A", "B"}), set_of({"C"}), {"A", "B", "C"}},
      {"one disabled", set_of({"A", "B"}), set_of({}, {"A"}), {"B"}},
      {"all disabled", set_of({"A", "B"}), set_of({}, {"*"}), {}},
      {"all disabled, own ones enabled", set_of({"A", "B"}), set_of({"B", "C"}, {"*"}), {"B", "C"}},
      {"one listed again keeps its position", set_of({"A", "B"}), set_of({"C", "A"}), {"A", "B", "C"}},
      {"disabled and enabled: enabled, at the end", set_of({"A", "B"}), set_of({"A"}, {"A"}), {"B", "A"}},
      {"disabled by the defaults", set_of({"A", "B"}, {"B"}), {}, {"A"}},
      {"twice: the last one replaces it", set_of({"A"}), set_of({"A", "A"}), {"A", "A"}},
  };
  for (const MergeCase& each : cases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(names_of(merge(each.defaults, each.custom).enabled), each.want);
  }
}

TEST(ProfileMerge, TakesTheWeightOfAPluginListedAgain) {
  PluginSet defaults = set_of({"A", "B"});
  defaults.enabled[0].weight = 3;
  PluginSet custom = set_of({"A"});
  EXPECT_EQ(merge(defaults, custom).enabled[0].weight, 0) << "without a weight it is the default weight, not that of A";
  custom.enabled[0].weight = 7;
  EXPECT_EQ(merge(defaults, custom).enabled[0].weight, 7);
}

TEST(ProfileMerge, KeepsWhatWasDisabledForTheExpansion) {
  EXPECT_EQ(merge(set_of({"A"}, {"X"}), set_of({}, {"Y"})).disabled, (Names{"Y", "X"}));
  Profile defaults;
  defaults.multi_point = set_of({"A"});
  defaults.points[Point::score] = set_of({"S"});
  Profile custom;
  custom.scheduler_name = "mine";
  custom.points[Point::filter] = set_of({}, {"A"});
  const Profile merged = merge(defaults, custom);
  EXPECT_EQ(merged.scheduler_name, "mine");
  EXPECT_EQ(names_of(merged.multi_point.enabled), (Names{"A"}));
  EXPECT_TRUE(merged.points.at(Point::filter).disables("A"));
  EXPECT_EQ(names_of(merged.points.at(Point::score).enabled), (Names{"S"}));
}

struct ExpandCase {
  const char* name;
  PluginSet multi_point, own;
  Names want;
};

// Plugins in lower case do not implement the point.
bool upper(const std::string& name) { return name[0] >= 'A' && name[0] <= 'Z'; }

Result<std::vector<ProfilePlugin>> expand_filter(PluginSet multi_point, PluginSet own) {
  Profile profile;
  profile.multi_point = std::move(multi_point);
  profile.points[Point::filter] = std::move(own);
  return expand(profile, Point::filter, upper);
}

TEST(ProfileExpand, OrdersOverridesThenMultiPointThenTheRest) {
  const ExpandCase cases[] = {
      {"multiPoint alone", set_of({"A", "B"}), {}, {"A", "B"}},
      {"not implementing the point", set_of({"a", "B"}), {}, {"B"}},
      {"override comes first", set_of({"A", "B"}), set_of({"B"}), {"B", "A"}},
      {"overrides in the order of the set", set_of({"A", "B", "C"}), set_of({"C", "A"}), {"C", "A", "B"}},
      {"another comes last", set_of({"A", "B"}), set_of({"X", "B"}), {"B", "A", "X"}},
      {"disabled here", set_of({"A", "B"}), set_of({}, {"A"}), {"B"}},
      {"disabled and enabled here: no override", set_of({"A", "B"}), set_of({"A"}, {"A"}), {"B", "A"}},
      {"all disabled", set_of({"A", "B"}), set_of({}, {"*"}), {}},
      {"all disabled, some enabled", set_of({"A", "B"}), set_of({"X", "B"}, {"*"}), {"X", "B"}},
      {"no multiPoint", {}, set_of({"B", "A"}), {"B", "A"}},
      {"twice in multiPoint, overridden", set_of({"A", "A", "B"}), set_of({"A"}), {"A", "B"}},
      {"twice in multiPoint, not implementing the point", set_of({"a", "a", "B"}), {}, {"B"}},
  };
  for (const ExpandCase& each : cases) {
    SCOPED_TRACE(each.name);
    const auto order = expand_filter(each.multi_point, each.own);
    ASSERT_TRUE(order) << order.error().message();
    EXPECT_EQ(names_of(*order), each.want);
  }
}

TEST(ProfileExpand, RefusesDoubleRegistration) {
  EXPECT_EQ(expand_filter(set_of({"A", "A"}), {}).error().message(),
            "plugin \"A\" is listed twice for filter; keep one entry");
  PluginSet twice = set_of({"A", "A"});
  twice.enabled[1].path = "profiles[0].plugins.filter.enabled[1]";
  EXPECT_EQ(expand_filter(set_of({}), twice).error().message(),
            "profiles[0].plugins.filter.enabled[1]: plugin \"A\" is listed twice for filter; keep one entry");
}

TEST(ProfileExpand, RefusesAPluginThatDoesNotImplementThePoint) {
  EXPECT_EQ(expand_filter({}, set_of({"a"})).error().message(),
            "plugin \"a\" does not implement filter; remove it here");
}

TEST(FrameworkMake, WeighsByThePointThenMultiPointThenOne) {
  ScriptedFramework scripted({"a", "b", "c"});
  scripted.profile.multi_point.enabled[1].weight = 5;
  scripted.profile.multi_point.enabled[2].weight = 6;
  scripted.profile.points[Point::score].enabled.push_back({"b", 9, {}});
  const std::vector<ProfilePlugin>& score = scripted.get().completed().points.at(Point::score).enabled;
  ASSERT_EQ(names_of(score), (Names{"b", "a", "c"}));
  EXPECT_EQ(score[0].weight, 9);
  EXPECT_EQ(score[1].weight, 5);
  EXPECT_EQ(score[2].weight, 1);
}

TEST(FrameworkMake, LeavesAPluginOutWhereItIsDisabled) {
  ScriptedFramework scripted;
  scripted.profile.points[Point::permit].disabled = {"a"};
  scripted.profile.points[Point::reserve].disabled = {"*"};
  CycleState state;
  std::map<std::string, Millis> waits;
  const Pod pod = make_pod("p");
  EXPECT_TRUE(scripted.get().binding().run_permit(state, pod, "n", waits).is_success());
  EXPECT_TRUE(scripted.get().binding().run_reserve(state, pod, "n").is_success());
  EXPECT_EQ(scripted.diary, (Names{"b Permit"}));
}

TEST(FrameworkMake, IsIdenticalWhenMadeFromItsCompletedProfile) {
  ScriptedFramework scripted;
  scripted.profile.multi_point.enabled[1].weight = 5;
  scripted.profile.points[Point::filter].enabled = {{"b", 0, {}}};
  const Profile once = scripted.get().completed();
  const auto again = Framework::make(scripted.registry, merge(scripted.profile, once), scripted.handle);
  ASSERT_TRUE(again) << again.error().message();
  const Profile& twice = (*again)->completed();
  EXPECT_TRUE(twice.multi_point.enabled.empty());
  for (const Point point : kPoints) {
    SCOPED_TRACE(to_string(point));
    const auto& a = once.points.at(point).enabled;
    const auto& b = twice.points.at(point).enabled;
    ASSERT_EQ(names_of(a), names_of(b));
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].weight, b[i].weight);
  }
}

// Arguments: {"speed": number}, default 3.
class SpeedyRunner final : public PostBindPlugin {
 public:
  explicit SpeedyRunner(int speed) : speed_(speed) {}
  std::string_view name() const override { return "Runner"; }
  Json args() const override { return Json(Json::Object{{"speed", Json(speed_)}}); }
  void post_bind(CycleState&, const Pod&, const std::string&) override {}

 private:
  int speed_;
};

Result<std::unique_ptr<Plugin>> make_runner(const Json& args, Handle&) {
  const Json* speed = args.find("speed");
  if (speed == nullptr) return std::unique_ptr<Plugin>(std::make_unique<SpeedyRunner>(3));
  if (!speed->is_integer()) return Status(Code::error, std::vector<std::string>{"speed: expected a number", "bad"});
  return std::unique_ptr<Plugin>(std::make_unique<SpeedyRunner>(static_cast<int>(speed->as_int())));
}

TEST(FrameworkMake, CompletesArgumentsWithTheirDefaults) {
  ScriptedFramework scripted;
  ASSERT_TRUE(scripted.registry.add("Runner", make_runner).is_success());
  scripted.profile.enable("Runner");
  EXPECT_EQ(scripted.get().completed().args_of("Runner").dump(), R"({"speed":3})");
}

TEST(FrameworkMake, LimitsTheNumberOfPlugins) {
  ScriptedFramework scripted;
  const auto enable = [&scripted](std::size_t number) {
    const std::string name = "Runner" + std::to_string(number);
    ASSERT_TRUE(scripted.registry.add(name, make_runner).is_success());
    scripted.profile.enable(name);
  };
  std::size_t number = scripted.get().completed().plugins().size();
  for (; number < kPluginsMax; ++number) enable(number);
  ASSERT_TRUE(Framework::make(scripted.registry, scripted.profile, scripted.handle));
  enable(number);
  const auto made = Framework::make(scripted.registry, scripted.profile, scripted.handle);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message(), "more than 256 plugins in one profile; leave out \"Runner256\"");
}

TEST(FrameworkMake, PrependsThePathToAPluginsArgumentErrors) {
  ScriptedFramework scripted;
  ASSERT_TRUE(scripted.registry.add("Runner", make_runner).is_success());
  scripted.profile.args["Runner"] = {Json(Json::Object{{"speed", "x"}}), "profiles[0].pluginConfig[1]"};
  for (const bool enabled : {false, true}) {
    if (enabled) scripted.profile.enable("Runner");
    const auto made = Framework::make(scripted.registry, scripted.profile, scripted.handle);
    ASSERT_FALSE(made) << "the arguments of a disabled plugin are validated too";
    EXPECT_EQ(made.error().reasons(), (Names{"profiles[0].pluginConfig[1].args.speed: expected a number",
                                             "profiles[0].pluginConfig[1].args: bad"}));
  }
}

}  // namespace
}  // namespace berth
