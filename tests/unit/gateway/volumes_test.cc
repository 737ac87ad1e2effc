// Local volumes as devices offer them.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

constexpr char kAllocatable[] = R"({"cpu":"2","memory":"1Gi","pods":"10"})";

TEST_F(GatewayTest, OfTwoVolumesOfOneDirectoryTheSecondIsRefusedNamingTheFirst) {
  start_connected();
  device("n1", "i1", kAllocatable,
         R"(,"volumes":[{"name":"a","path":"/d","capacity":"1Gi","storageClass":"local"},
                        {"name":"b","path":"/d","capacity":"1Gi","storageClass":"local"},
                        {"name":"c","path":"/e","capacity":"1Gi","storageClass":"local"}])");
  EXPECT_NE(gateway->objects().volume("n1-a"), nullptr);
  EXPECT_EQ(gateway->objects().volume("n1-b"), nullptr);
  EXPECT_NE(gateway->objects().volume("n1-c"), nullptr);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_NE(log.warnings[0].find("its path /d on node n1 is that of volume n1-a already"), std::string::npos)
      << log.warnings[0];
  device("n2", "i2", kAllocatable, R"(,"volumes":[{"name":"a","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  EXPECT_NE(gateway->objects().volume("n2-a"), nullptr) << "another node's";
}

}  // namespace
}  // namespace berth
