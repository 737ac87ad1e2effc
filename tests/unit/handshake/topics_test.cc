#include "core/handshake/topics.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Levels = std::vector<std::string_view>;

TEST(Topics, NamesEveryTopicOfAFleet) {
  const Topics topics("site");
  EXPECT_EQ(topics.desired(Kind::pod, "default/web"), "berth/v1/site/desired/pods/default/web");
  EXPECT_EQ(topics.status(Kind::persistent_volume, "disk"), "berth/v1/site/status/persistentvolumes/disk");
  EXPECT_EQ(topics.events("default"), "berth/v1/site/events/default");
  EXPECT_EQ(topics.node_state("n1"), "berth/v1/site/nodes/n1/state");
  EXPECT_EQ(topics.node_presence("n1"), "berth/v1/site/nodes/n1/presence");
  EXPECT_EQ(topics.node_heartbeat("n1"), "berth/v1/site/nodes/n1/heartbeat");
  EXPECT_EQ(topics.node_requests("n1"), "berth/v1/site/nodes/n1/requests");
  EXPECT_EQ(topics.node_pod("n1", "default/web"), "berth/v1/site/nodes/n1/pods/default/web");
  EXPECT_EQ(topics.answers("gw", "n1"), "berth/v1/site/gateways/gw/answers/n1");
  EXPECT_EQ(topics.gateway_presence("gw", "run"), "berth/v1/site/gateways/gw/presence/run");
  EXPECT_EQ(topics.gateway_api("gw"), "berth/v1/site/gateways/gw/api");
  EXPECT_EQ(topics.gateway_fence("gw"), "berth/v1/site/gateways/gw/fence");
  EXPECT_EQ(topics.client("ops"), "berth/v1/site/clients/ops/answers");
}

TEST(Topics, SplitsTheLevelsBelowTheFleet) {
  const Topics topics("site");
  EXPECT_EQ(topics.split("berth/v1/site/nodes/n1/state"), (Levels{"nodes", "n1", "state"}));
  EXPECT_EQ(topics.split("berth/v1/site/a//b/"), (Levels{"a", "", "b", ""}));
  EXPECT_EQ(topics.split("berth/v1/site/"), (Levels{""}));
  EXPECT_TRUE(topics.split("berth/v1/site").empty());
  EXPECT_TRUE(topics.split("berth/v1/sites/nodes/n1/state").empty()) << "a topic of another fleet";
}

TEST(Topics, TellWhoseHeartbeatItIs) {
  const Topics topics("site");
  EXPECT_EQ(topics.heartbeat_sender(topics.node_heartbeat("n1")), "n1");
  for (const char* other :
       {"berth/v1/site/nodes/n1/state", "berth/v1/sites/nodes/n1/heartbeat", "berth/v1/site/nodes/heartbeat",
        "berth/v1/site/nodes//heartbeat", "berth/v1/site/pods/n1/heartbeat", "heartbeat", "berth/v1/site/"}) {
    EXPECT_EQ(topics.heartbeat_sender(other), "") << other;
  }
  EXPECT_EQ(topics.below_root("berth/v1/site/leader"), "leader");
  EXPECT_EQ(topics.below_root("berth/v1/sites/leader"), "");
}

}  // namespace
}  // namespace berth
