// The text output of berthctl explain and plan.
#include "firmware-host/ctl/explain.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

std::string page(std::string_view text) { return explanation_page(parsed_json(text)); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(CtlExplain, StartsWithTheReasonAndShowsItOnce) {
  const std::string text = page(R"({"placed":false,"why":"0/1 nodes are available: 1 X.","trial":{"fits":false,
               "message":"0/1 nodes are available: 1 X."}})");
  EXPECT_EQ(text, "0/1 nodes are available: 1 X.\n");
}

TEST(CtlExplain, ShowsTheResultOfATrialIfItDiffers) {
  const std::string text = page(R"({"placed":false,"why":"0/1 nodes are available: 1 X.","trial":{"fits":true,
      "node":"n1","chosen":{"why":"only feasible node"}}})");
  EXPECT_EQ(text, "0/1 nodes are available: 1 X.\nif scheduled now: fits on node n1: the only feasible node\n");
}

TEST(CtlExplain, ShowsThePlacementOfABoundPod) {
  const std::string text = page(R"({"placed":true,"placement":{"node":"n1","phase":"bound","epoch":"1.8"},
      "trial":{"fits":true,"node":"n2","chosen":{"why":"drawn among equals","total":395,"ties":3,"seed":"7"}}})");
  EXPECT_EQ(text,
            "placed on node n1, bound, epoch 1.8\n"
            "if scheduled now, without counting itself: fits on node n2: chosen at random among 3 equal totals of 395, "
            "seed 7\n");
}

TEST(CtlExplain, NamesWhatIsNotBelievedOfNodes) {
  const std::string text = page(R"({"placed":false,"why":"no","trial":{"fits":false,"message":"no"},
      "notes":[{"node":"n1","message":"the device says kubernetes.io/hostname=n2"}]})");
  EXPECT_EQ(text, "no\n\nnodes:\n  n1: the device says kubernetes.io/hostname=n2\n");
}

TEST(CtlExplain, ShortensLongListsOfNodesAndShowsTheirNumber) {
  const std::string text = page(R"({"trial":{"fits":false,"message":"no","groups":[{"verdict":"rejected",
      "plugin":"NodeResourcesFit","code":"Unschedulable","reasons":["Insufficient cpu"],"count":4822,
      "names":["a","b","c","d","e","f","g","h","i","j"],"more":4812}],"moreGroups":1,"moreGroupNodes":1234567}})");
  EXPECT_NE(
      text.find("4,822   rejected   NodeResourcesFit   Insufficient cpu   a, b, c, d, e, f, g, h and 4,814 more\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("and 1,234,567 more nodes for 1 other reason\n"), std::string::npos) << text;
}

TEST(CtlExplain, ListsAllFiltersIfRequested) {
  const std::string text = page(R"({"trial":{"fits":false,"message":"no","groups":[{"verdict":"rejected","plugin":"B",
      "code":"Unschedulable","reasons":["too small"],"count":1,"names":["n1"],"filters":[
      {"plugin":"A","code":"Success"},{"plugin":"B","code":"Unschedulable","reasons":["too small"]}]}]}})");
  EXPECT_NE(text.find("all filters for n1:\n  A   Success         -\n  B   Unschedulable   too small\n"),
            std::string::npos)
      << text;
}

TEST(CtlExplain, MarksTheWinnerAmongTheScores) {
  const std::string text = page(R"({"trial":{"fits":true,"node":"n2","chosen":{"why":"highest total","total":395},
      "scores":{"plugins":[{"name":"Taint","weight":3},{"name":"Fit","weight":1}],"rows":[
      {"node":"n2","total":395,"normalized":[100,95],"raw":[0,95]},
      {"node":"n1","total":91,"normalized":[0,91],"raw":[2,91]}],"more":1}}})");
  EXPECT_EQ(first_line(text), "fits on node n2: highest total, 395");
  EXPECT_NE(text.find("  NODE   TOTAL   Taint x3   Fit x1\n"
                      "* n2     395     100 (0)    95\n"
                      "  n1     91      0 (2)      91\n"
                      "  and 1 more node with no higher total\n"),
            std::string::npos)
      << text;
}

TEST(CtlExplain, ShowsTheVictimsOfPreemption) {
  const std::string text = page(R"({"trial":{"fits":false,"message":"no","preemption":{"nominatedNode":"n1",
      "victims":[{"pod":"default/low","priority":-5}],"more":2}}})");
  EXPECT_NE(text.find("preemption: would fit on node n1 after evicting: default/low (priority -5) and 2 more\n"),
            std::string::npos)
      << text;
  EXPECT_NE(page(R"({"trial":{"fits":false,"message":"no","preemption":{"message":"preemption: not helpful"}}})")
                .find("\npreemption: not helpful\n"),
            std::string::npos);
}

TEST(CtlExplain, ShowsTheQueueInOneLine) {
  const std::string head = R"({"why":"no","queue":{"place":)";
  EXPECT_NE(page(head + R"("backoff","attempts":3,"dueInMs":3001}})")
                .find("queue: backoff, next attempt in 4 s, 3 attempts\n"),
            std::string::npos);
  EXPECT_NE(page(head + R"("unschedulable","attempts":1,"dueInMs":330000}})")
                .find("queue: unschedulable, next attempt in at most 5 min 30 s, 1 attempt\n"),
            std::string::npos);
  EXPECT_NE(page(head + R"("active","attempts":0,"dueInMs":0}})").find("queue: active, due now, 0 attempts\n"),
            std::string::npos);
  EXPECT_NE(page(head + R"("gated","attempts":0,"gatedBy":"SchedulingGates"}})")
                .find("queue: gated by SchedulingGates, 0 attempts\n"),
            std::string::npos);
  EXPECT_NE(page(head + R"("in flight"}})").find("queue: in flight\n"), std::string::npos);
  EXPECT_EQ(page(head + R"("none"}})"), "no\n");
}

TEST(CtlExplain, ListsEachRequeueingEventOnceWithItsPlugins) {
  const std::string text = page(R"({"why":"no","wokenBy":[
      {"plugin":"A","resource":"Node","actions":["Add","UpdateNodeLabel"]},
      {"plugin":"B","resource":"*","actions":["Add"]},
      {"plugin":"C","resource":"Node","actions":["Add","UpdateNodeLabel"]}]})");
  EXPECT_NE(text.find("would be requeued by:\n  Node Add, UpdateNodeLabel (A, C)\n  every event (B)\n"),
            std::string::npos)
      << text;
}

TEST(CtlExplain, PrintsNoControlCharacters) {
  const std::string text = page("{\"why\":\"no\\u001b[2J\",\"trial\":{\"fits\":false,\"message\":\"x\\u0007\"}}");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
}

}  // namespace
}  // namespace berth
