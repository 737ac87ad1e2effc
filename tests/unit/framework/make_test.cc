#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

std::string error_of(ScriptedFramework& scripted) {
  Result<std::unique_ptr<Framework>> made = Framework::make(scripted.registry, scripted.profile, scripted.handle);
  return made ? "none" : made.error().message();
}

TEST(FrameworkMake, NamesAnUnknownPlugin) {
  ScriptedFramework scripted;
  scripted.profile.enable("Fancy");
  EXPECT_EQ(error_of(scripted), "plugin \"Fancy\" is unknown; known plugins: ByPriority, a, b");
}

TEST(FrameworkMake, RefusesAPluginListedTwice) {
  ScriptedFramework scripted;
  scripted.profile.enable("a");
  EXPECT_EQ(error_of(scripted), "plugin \"a\" is listed twice for preEnqueue; keep one entry");
}

TEST(FrameworkMake, RefusesANegativeWeight) {
  ScriptedFramework scripted;
  scripted.profile.multi_point.enabled[1].weight = -1;
  EXPECT_EQ(error_of(scripted), "plugin \"a\": weight -1 must be at least 1; disable the plugin to turn it off");
}

TEST(FrameworkMake, RefusesWeightsWhoseSumOfScoresOverflows) {
  ScriptedFramework scripted;
  scripted.profile.multi_point.enabled[1].weight = std::numeric_limits<std::int64_t>::max() / 100;
  EXPECT_NE(error_of(scripted).find("plugin \"b\": weight 1 makes the sum of scores overflow"), std::string::npos);
}

TEST(FrameworkMake, RequiresExactlyOneQueueSort) {
  ScriptedFramework scripted;
  scripted.profile.multi_point.enabled.erase(scripted.profile.multi_point.enabled.begin());
  EXPECT_EQ(error_of(scripted), "no plugin sorts the queue; enable one, such as PrioritySort");
  ScriptedFramework two;
  ASSERT_TRUE(two.registry
                  .add("Other", [](const Json&,
                                   Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<ByPriority>()); })
                  .is_success());
  two.profile.enable("Other");
  EXPECT_EQ(error_of(two), "plugins \"ByPriority\" and \"Other\" both sort the queue; keep one");
}

TEST(FrameworkMake, RequiresABindPlugin) {
  ScriptedFramework scripted(std::vector<std::string>{});
  EXPECT_EQ(error_of(scripted), "no plugin binds pods; enable at least one, such as DefaultBinder");
}

TEST(FrameworkMake, PassesOnAPluginsErrorAboutItsArguments) {
  ScriptedFramework scripted;
  ASSERT_TRUE(scripted.registry
                  .add("Picky",
                       [](const Json&, Handle&) {
                         return Result<std::unique_ptr<Plugin>>(Status::error("args.speed: expected a number"));
                       })
                  .is_success());
  scripted.profile.enable("Picky");
  EXPECT_EQ(error_of(scripted), "plugin \"Picky\": args.speed: expected a number");
}

TEST(Registry, RefusesARegisteredName) {
  ScriptedFramework scripted;
  EXPECT_EQ(scripted.registry.merge(scripted.registry).message(), "plugin \"ByPriority\" is registered twice");
}

class Listener final : public BindPlugin, public EnqueueExtensions {
 public:
  std::string_view name() const override { return "Listener"; }
  Status bind(CycleState&, const Pod&, const std::string&) override { return {}; }
  std::vector<EventWithHint> events_to_register() const override {
    return {{{EventResource::node, kAdd, "NodeAdd"}, [](const Pod&, const EventObjects&) { return Hint::skip; }}};
  }
};

TEST(FrameworkEvents, AreTheWildcardForAPluginThatRegistersNone) {
  ScriptedFramework scripted;
  const std::vector<EventWithHint>& events = scripted.get().events_of("a");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].event.resource, EventResource::wildcard);
  EXPECT_TRUE(scripted.get().events_of("unknown").empty());
}

TEST(FrameworkEvents, IncludeTaintUpdatesWithNodeAdd) {
  ScriptedFramework scripted;
  ASSERT_TRUE(
      scripted.registry
          .add("Listener",
               [](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<Listener>()); })
          .is_success());
  scripted.profile.enable("Listener");
  const std::vector<EventWithHint>& events = scripted.get().events_of("Listener");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[1].event.matches({EventResource::node, kUpdateNodeTaint, ""}));
  EXPECT_FALSE(events[1].hint) << "always queue";
}

TEST(ClusterEvent, MatchesByResourceAndAction) {
  const ClusterEvent pod{EventResource::pod, kDelete | kUpdatePodLabel, ""};
  EXPECT_TRUE(pod.matches({EventResource::pod, kDelete, ""}));
  EXPECT_TRUE(pod.matches({EventResource::assigned_pod, kDelete, ""}));
  EXPECT_TRUE(pod.matches({EventResource::unscheduled_pod, kUpdatePodLabel, ""}));
  EXPECT_FALSE(pod.matches(ClusterEvent{})) << "an incoming wildcard matches registered wildcards only";
  EXPECT_TRUE(ClusterEvent{}.matches(pod));
  EXPECT_FALSE(pod.matches({EventResource::pod, kUpdate, ""})) << "broader than the registered event";
  const ClusterEvent any_update{EventResource::pod, kUpdate, ""};
  EXPECT_TRUE(any_update.matches({EventResource::pod, kUpdatePodLabel, ""}));
  EXPECT_FALSE(pod.matches({EventResource::pod, kAdd, ""}));
  EXPECT_FALSE(pod.matches({EventResource::node, kDelete, ""}));
  const ClusterEvent assigned{EventResource::assigned_pod, kDelete, ""};
  EXPECT_FALSE(assigned.matches({EventResource::pod, kDelete, ""}));
}

}  // namespace
}  // namespace berth
