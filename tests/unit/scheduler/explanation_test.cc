// The record of one cycle, with plugins that answer as they are told; and what a trial is lent.
#include "core/scheduler/explanation.h"
#include "core/api/pod.h"

#include <gtest/gtest.h>

#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

class ExplanationTest : public ::testing::Test {
 protected:
  void nodes(int count) {
    for (int i = 0; i < count; ++i) cache.set_node(share(make_node("n" + std::to_string(i))));
    search.pick = pick_uniformly(random);
  }
  Explanation explain(const std::string& excluded_uid = "") {
    return explain_on({cache, scripted.handle.snapshot_of_test, random, search}, scripted.get(), pod, excluded_uid,
                      how);
  }
  std::string dump(std::initializer_list<std::string_view> path) {
    const Explanation told = explain();
    const Json* found = &told.record;
    for (const std::string_view step : path) found = found == nullptr ? nullptr : found->find(step);
    return found == nullptr ? "absent" : found->dump();
  }
  Script& script(const std::string& plugin) { return scripted.scripts[plugin]; }

  ScriptedFramework scripted;
  Cache cache;
  Nominator nominator;
  NodeSearch search;
  ExplainOptions how;
  Pod pod = make_pod("p");
  Random random{7};
};

TEST_F(ExplanationTest, TellsPluginCodeAndEveryReasonOfARejection) {
  nodes(3);
  script("a").answers["Filter n1"] = Status(Code::unschedulable, std::vector<std::string>{"too hot", "too far"});
  script("b").answers["Filter n0"] = Status::unresolvable("no camera");
  script("b").answers["Filter n2"] = Status::unresolvable("no camera");
  EXPECT_EQ(dump({"groups"}),
            R"([{"plugin":"b","code":"UnschedulableAndUnresolvable","reasons":["no camera"],"verdict":"rejected",)"
            R"("count":2,"names":["n0","n2"]},)"
            R"({"plugin":"a","code":"Unschedulable","reasons":["too hot","too far"],"verdict":"rejected",)"
            R"("count":1,"names":["n1"]}])");
  EXPECT_EQ(dump({"message"}), R"("0/3 nodes are available: 1 too far, 1 too hot, 2 no camera.")");
}

TEST_F(ExplanationTest, AsksEveryFilterBehindTheFirstRejection) {
  nodes(1);
  how.all_filters = true;
  script("a").answers["Filter n0"] = Status::unschedulable("too hot");
  script("b").answers["Filter n0"] = Status::unresolvable("no camera");
  EXPECT_EQ(explain().record.find("groups")->as_array()[0].find("filters")->dump(),
            R"([{"plugin":"a","code":"Unschedulable","reasons":["too hot"]},)"
            R"({"plugin":"b","code":"UnschedulableAndUnresolvable","reasons":["no camera"]}])");
}

TEST_F(ExplanationTest, NamesThePreFilterThatLeftANodeOut) {
  nodes(2);
  how.all_filters = true;
  script("a").node_names = {"n1"};
  const Json groups = *explain().record.find("groups");
  ASSERT_EQ(groups.as_array().size(), 2u);
  for (const Json& group : groups.as_array()) {
    const bool left_out = group.find("names")->dump() == R"(["n0"])";
    EXPECT_EQ(*group.find("verdict"), Json(left_out ? "rejected" : "fits"));
    EXPECT_EQ(group.find("filters")->as_array().size(), left_out ? 3u : 2u);
  }
}

TEST_F(ExplanationTest, SaysThatTheNominatedNodeWasTriedAlone) {
  nodes(3);
  how.all_filters = true;
  pod.nominated_node_name = "n1";
  EXPECT_EQ(dump({"chosen"}), R"({"why":"nominated node"})");
  EXPECT_EQ(dump({"node"}), R"("n1")");
  EXPECT_EQ(*explain().record.find("groups")->as_array()[0].find("verdict"), Json("not looked at"));
}

TEST_F(ExplanationTest, TellsRawScoresBesideTheNormalized) {
  nodes(2);
  script("a").scores = {{"n0", 10}, {"n1", 30}};
  EXPECT_EQ(dump({"chosen"}), R"({"why":"highest total","total":30,"ties":1})");
  EXPECT_EQ(dump({"scores"}), R"({"plugins":[{"name":"a","weight":1},{"name":"b","weight":1}],"rows":[)"
                              R"({"node":"n1","total":30,"normalized":[30,0],"raw":[30,0]},)"
                              R"({"node":"n0","total":10,"normalized":[10,0],"raw":[10,0]}]})");
}

TEST_F(ExplanationTest, TellsWhatPreemptionFound) {
  nodes(1);
  script("a").answers["Filter n0"] = Status::unschedulable("full");
  script("a").nominated_node = "n0";
  EXPECT_EQ(dump({"preemption"}), R"({"nominatedNode":"n0","victims":[]})");
}

TEST_F(ExplanationTest, TellsAnErrorAsSuch) {
  nodes(1);
  script("a").answers["Filter n0"] = Status::error("sensor broken");
  EXPECT_EQ(dump({"error"}), "true");
  EXPECT_NE(dump({"message"}).find("sensor broken"), std::string::npos);
}

TEST_F(ExplanationTest, TellsThatThereIsNoNodeAtAll) {
  nodes(0);
  EXPECT_EQ(dump({"message"}), R"("no nodes available to schedule pods")");
  EXPECT_EQ(dump({"groups"}), "[]");
}

TEST_F(ExplanationTest, GivesBackWhatItWasLent) {
  nodes(5);
  cache.update_snapshot(scripted.handle.snapshot_of_test);
  cache.set_node(share(make_node("n9")));
  const std::int64_t generation = scripted.handle.snapshot_of_test.generation();
  search.next_start = 3;
  Random untouched = random;
  const std::string first = explain().record.dump();
  EXPECT_EQ(explain().record.dump(), first);
  EXPECT_EQ(scripted.handle.snapshot_of_test.generation(), generation);
  EXPECT_EQ(search.next_start, 3u);
  EXPECT_EQ(random.next(), untouched.next());
  EXPECT_EQ(cache.pod_count(), 0u);
  for (const std::string& call : scripted.diary) {
    for (const char* point : {"Reserve", "Permit", "PreFlight", "PreBind", "Bind"}) {
      EXPECT_EQ(call.find(point), std::string::npos) << call;
    }
  }
}

TEST_F(ExplanationTest, DoesNotCountThePodThatIsAskedAbout) {
  nodes(1);
  ASSERT_TRUE(cache.assume(share(pod), "n0").is_success());
  const Explanation told = explain(pod.uid());
  EXPECT_TRUE(told.result.status.is_success());
  EXPECT_EQ(cache.node_of(pod.uid()), "n0");
  EXPECT_EQ(cache.find("n0")->pods.size(), 1u);
}

TEST_F(ExplanationTest, NamesTheEventsOfThePluginsThatRejected) {
  // A plugin that registers nothing is woken by everything.
  EXPECT_EQ(wakers_of(scripted.get(), {"a", "unknown"}).dump().substr(0, 30), R"([{"plugin":"a","resource":"*",)");
}

}  // namespace
}  // namespace berth
