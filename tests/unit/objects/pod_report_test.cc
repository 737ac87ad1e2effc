#include "core/objects/pod_report.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

// The fault, and what is left.
std::string check(const std::string& text) {
  Json report = *Json::parse(text);
  const std::string fault = remove_faults(report);
  return fault + (fault.empty() ? "" : " | ") + report.dump();
}

TEST(PodReport, OneThatIsRightStaysAsItIs) {
  const std::string right =
      R"({"phase":"Running","startTime":"2026-01-31T12:00:00Z","containerStatuses":[{"name":"c","image":"app","ready":true,)"
      R"("restartCount":2,"state":{"running":{"startedAt":"2026-01-31T12:00:00.5+01:00"}},)"
      R"("lastState":{"terminated":{"exitCode":1,"signal":9,"reason":"Error"}}}]})";
  EXPECT_EQ(check(right), right);
}

TEST(PodReport, MembersOfALaterProtocolStay) {
  const std::string later =
      R"({"phase":"Running","pressure":7,"containerStatuses":[{"name":"c","gpu":{},"state":{"running":{"core":1},"frozen":{}}}]})";
  EXPECT_EQ(check(later), later);
}

TEST(PodReport, AWrongMemberIsNamedAndLeftOut) {
  EXPECT_EQ(check(R"({"phase":"Asleep","message":"m"})"),
            R"(phase: expected one of Pending, Running, Succeeded, Failed, got "Asleep" | {"message":"m"})");
  EXPECT_EQ(check(R"({"phase":"Failed","reason":7})"),
            R"(reason: expected a string, got 7; put it in quotes | {"phase":"Failed"})");
  EXPECT_EQ(check(R"({"startTime":"yesterday"})"),
            R"(startTime: expected a time such as 2026-01-31T12:00:00Z, got "yesterday" | {})");
  EXPECT_EQ(check(R"({"containerStatuses":{}})"), R"(containerStatuses: expected a list, got an object | {})");
}

TEST(PodReport, AnAddressThatIsNoneIsLeftOut) {
  const std::string right = R"({"podIP":"10.88.0.2","podIPs":[{"ip":"10.88.0.2"},{"ip":"fd00::2"}]})";
  EXPECT_EQ(check(right), right);
  EXPECT_EQ(check(R"({"podIP":"at home"})"), R"(podIP: expected an address of IPv4 or IPv6, got "at home" | {})");
  EXPECT_EQ(check(R"({"hostIP":"192.168.0.7","hostIPs":[{"ip":7}]})"),
            R"(hostIPs[0].ip: expected a string, got 7; put it in quotes | {"hostIP":"192.168.0.7","hostIPs":[]})");
  EXPECT_EQ(check(R"({"hostIP":"here"})"), R"(hostIP: expected an address of IPv4 or IPv6, got "here" | {})");
  EXPECT_EQ(check(R"({"podIPs":[{"ip":"10.88.0.2"},{"ip":"<b>"},{}]})"),
            R"(podIPs[1].ip: expected an address of IPv4 or IPv6, got "<b>" | {"podIPs":[{"ip":"10.88.0.2"}]})");
}

TEST(PodReport, OfContainersThoseThatAreWrongAreLeftOut) {
  const auto with = [](const std::string& wrong) {
    return check(R"({"containerStatuses":[{"name":"a"},{"name":"b",)" + wrong + R"(},{"name":"c"}]})");
  };
  const std::string rest = R"( | {"containerStatuses":[{"name":"a"},{"name":"c"}]})";
  const std::string at = "containerStatuses[1].";
  EXPECT_EQ(with(R"("restartCount":"3x")"),
            at + R"(restartCount: expected an integer from 0 to 2147483647, got "3x"; write a number, without quotes)" +
                rest);
  EXPECT_EQ(with(R"("restartCount":-1)").substr(0, at.size() + 12), at + "restartCount");
  EXPECT_EQ(with(R"("ready":"yes")").substr(0, at.size() + 6), at + "ready:");
  EXPECT_EQ(with(R"("state":[])").substr(0, at.size() + 6), at + "state:");
  EXPECT_EQ(with(R"("state":{"running":{},"waiting":{}})"),
            at + "state: expected one of waiting, running and terminated, got several" + rest);
  EXPECT_EQ(with(R"("lastState":{"terminated":{"exitCode":"one"}})").substr(0, at.size() + 29),
            at + "lastState.terminated.exitCode");
  EXPECT_EQ(check(R"({"initContainerStatuses":[7,{"image":"x"}]})").substr(0, 25), "initContainerStatuses[0]:");
}

}  // namespace
}  // namespace berth
