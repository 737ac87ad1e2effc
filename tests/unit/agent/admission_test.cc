#include "core/agent/admission.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Demand demand(std::int64_t memory) {
  Demand demand;
  demand.requests.memory = memory;
  return demand;
}

Offer offer() {
  Offer offer;
  offer.allocatable.milli_cpu = 2000;
  offer.allocatable.memory = 128 << 20;
  offer.allocatable.allowed_pods = 3;
  offer.allocatable.scalar["example.com/camera"] = 1;
  offer.volumes = {{"data", "/srv/data", "1Gi", "local"}, {"fast", "/srv/fast", "1Gi", "local"}};
  return offer;
}

TEST(Admission, ReportsRequestedAndFreeAmounts) {
  const Demand held = demand(88 << 20);
  EXPECT_TRUE(admit(demand(40 << 20), offer(), {&held}).is_success());
  EXPECT_EQ(admit(demand(64 << 20), offer(), {&held}).message(), "insufficient memory: 64Mi asked, 40Mi free");
}

TEST(Admission, NamesEveryInsufficientResource) {
  Demand large = demand(1 << 30);
  large.requests.milli_cpu = 2500;
  large.requests.scalar["example.com/camera"] = 2;
  EXPECT_EQ(admit(large, offer(), {}).message(),
            "insufficient cpu: 2500m asked, 2 free, insufficient memory: 1Gi asked, 128Mi free, "
            "insufficient example.com/camera: 2 asked, 1 free");
}

TEST(Admission, CountsPods) {
  const Demand one = demand(1);
  EXPECT_TRUE(admit(one, offer(), {&one, &one}).is_success());
  EXPECT_EQ(admit(one, offer(), {&one, &one, &one}).message(), "insufficient pods: 1 asked, 0 free");
}

TEST(Admission, AVolumeMustBeOffered) {
  Demand asks = demand(1);
  asks.volumes = {{"default/db", "n1-data", "/srv/data"}};
  EXPECT_TRUE(admit(asks, offer(), {}).is_success());
  asks.volumes[0].path = "/etc";
  EXPECT_EQ(admit(asks, offer(), {}).message(), "volume n1-data: this node offers no /etc");
}

TEST(Admission, TwoClaimsNeverShareAVolume) {
  Demand holder = demand(1);
  holder.volumes = {{"default/db", "n1-data", "/srv/data"}};
  Demand asks = demand(1);
  asks.volumes = {{"default/other", "n1-data", "/srv/data"}};
  EXPECT_EQ(admit(asks, offer(), {&holder}).message(), "volume n1-data is held for claim default/db");
  asks.volumes = {{"default/db", "n1-fast", "/srv/fast"}};
  EXPECT_EQ(admit(asks, offer(), {&holder}).message(), "claim default/db is held with volume n1-data");
  asks.volumes = {{"default/other", "n1-fast", "/srv/fast"}};
  EXPECT_TRUE(admit(asks, offer(), {&holder}).is_success());
}

TEST(Admission, PodsOfOneNodeShareAClaim) {
  Demand holder = demand(1);
  holder.volumes = {{"default/db", "n1-data", "/srv/data"}};
  EXPECT_TRUE(admit(holder, offer(), {&holder}).is_success());
}

TEST(Admission, HostPortsCollideByProtocolPortAndAddress) {
  const auto ports = [](std::vector<HostPort> list) {
    Demand asks = demand(1);
    asks.host_ports = std::move(list);
    return asks;
  };
  const Demand web = ports({{"", "TCP", 443}, {"", "TCP", 80}});
  const Demand local = ports({{"127.0.0.1", "TCP", 80}});
  const Demand other = ports({{"10.0.0.1", "TCP", 80}});
  EXPECT_EQ(admit(web, offer(), {&web}).message(), "host port TCP/443 is taken, host port TCP/80 is taken");
  EXPECT_EQ(admit(local, offer(), {&other, &web}).message(), "host port TCP/80 on 127.0.0.1 is taken");
  EXPECT_EQ(admit(web, offer(), {&local}).message(), "host port TCP/80 is taken");
  EXPECT_TRUE(admit(local, offer(), {&other}).is_success());
  EXPECT_TRUE(admit(ports({{"", "UDP", 80}}), offer(), {&web}).is_success());
}

}  // namespace
}  // namespace berth
