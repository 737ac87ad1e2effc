// Certificates of devices that expire soon: condition and event.
#include "core/placement/certificate_watch.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

constexpr Millis kDay = Millis{24} * 3600 * 1000;

class Certificates : public GatewayTest {
 protected:
  void device_until(Millis end, const std::string& more = "") {
    device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
           R"(,"certificateExpires":")" + std::to_string(end) + R"(")" + more);
  }
  Json described() { return api(R"({"op":"describe","kind":"node","name":"n1"})"); }
  bool is_expiring() { return described().dump().find(R"("type":"CertificateExpiring")") != std::string::npos; }
  int events() {
    int count = 0;
    const Json reply = described();
    for (const Json& event : reply.find("events")->as_array())
      count += event.string_at("reason") == "CertificateExpiring";
    return count;
  }
};

TEST_F(Certificates, ANodeIsReportedFromThirtyDaysBeforeTheEndAndOnce) {
  start_connected();
  const Millis now = clock.wall();
  device_until(now + 31 * kDay);
  EXPECT_FALSE(is_expiring());
  EXPECT_EQ(events(), 0);
  device_until(now + 30 * kDay);
  EXPECT_TRUE(is_expiring());
  device_until(now + 30 * kDay, R"(,"storeLost":"x")");
  EXPECT_EQ(events(), 1);
  device_until(now + 1000 * kDay);
  EXPECT_FALSE(is_expiring());
}

TEST_F(Certificates, ADeviceWithoutOneOrWithNonsenseHasNoSuchCondition) {
  start_connected();
  device("n1", "i1");
  EXPECT_FALSE(is_expiring());
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"certificateExpires":"soon")");
  EXPECT_FALSE(is_expiring());
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"certificateExpires":"18446744073709551615")");
  EXPECT_FALSE(is_expiring());
}

TEST(CertificateWatchTest, NamesTheDaysAndTheCommand) {
  EXPECT_EQ(why_certificate_expires("n1", 0, 0), "");
  EXPECT_EQ(why_certificate_expires("n1", 31 * kDay, 0), "");
  EXPECT_EQ(why_certificate_expires("n1", 30 * kDay, 0),
            "the certificate that the device connects with expires in 30 days: run `berthctl enroll n1 --renew` on the "
            "gateway and copy its files to the device");
  EXPECT_NE(why_certificate_expires("n1", kDay, 4 * kDay).find("expired 3 days ago"), std::string::npos);
}

}  // namespace
}  // namespace berth
