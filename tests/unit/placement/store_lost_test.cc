// What a device reports of a store that it has lost: it begins as another incarnation, and says why.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class StoreLost : public GatewayTest {
 protected:
  std::vector<std::string> events_of(const std::string& node) {
    const Json reply = api(R"({"op":"describe","kind":"node","name":")" + node + R"("})");
    std::vector<std::string> lines;
    for (const Json& event : reply.find("events")->as_array()) {
      if (event.string_at("reason") == "RegisteredNode") continue;
      lines.push_back(event.string_at("reason") + ": " + event.string_at("message"));
    }
    return lines;
  }
  void device_that_lost(const std::string& incarnation, const std::string& why) {
    device("n1", incarnation, R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"storeLost":")" + why + R"(")");
  }
};

TEST_F(StoreLost, IsToldOnceOfEachIncarnation) {
  start_connected();
  device("n1", "i1");
  EXPECT_TRUE(events_of("n1").empty());
  device_that_lost("i2", "StoreRolledBack");
  const std::vector<std::string> once{
      "NodeStoreLost: the agent's store was lost (StoreRolledBack); it stopped all pods and began as a new device"};
  EXPECT_EQ(events_of("n1"), once);
  device_that_lost("i2", "StoreRolledBack");
  EXPECT_EQ(events_of("n1"), once);
}

TEST_F(StoreLost, AReasonThatIsNoWordIsNotTold) {
  start_connected();
  device_that_lost("i1", "two words");
  device_that_lost("i2", "");
  EXPECT_TRUE(events_of("n1").empty());
}

}  // namespace
}  // namespace berth
