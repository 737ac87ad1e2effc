// N10: certificates for devices that ask, and what asking may cost.
#include "core/placement/renewals.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

constexpr Millis kDayMs = Millis{24} * 3600 * 1000;
constexpr char kRequest[] = "-----BEGIN CERTIFICATE REQUEST-----\nMQ==\n-----END CERTIFICATE REQUEST-----\n";
constexpr char kCertificate[] = "-----BEGIN CERTIFICATE-----\nMQ==\n-----END CERTIFICATE-----\n";

struct FakeIssuer final : CertificateIssuer {
  void issue(const std::string& node, const std::string& request, Done done_in) override {
    EXPECT_EQ(request, kRequest);
    nodes.push_back(node);
    done = std::move(done_in);
    if (outcome) std::exchange(done, {})(*outcome);
  }
  std::vector<std::string> nodes;
  std::optional<IssuedCertificate> outcome = IssuedCertificate{kCertificate, {}, 0};  // none: later
  Done done;
};

class RenewalsTest : public GatewayTest {
 protected:
  RenewalsTest() {
    options.issuer = &issuer;
    clock.booted_ms = kYearOfThisProgram;
  }
  void ask(const std::string& node, const std::string& request = kRequest) {
    Answer renew(AnswerType::renew);
    renew.incarnation = "i1";
    renew.certificate_request = request;
    answer(node, renew);
  }
  // The certificate or the reason in the last answer to the node; empty: there is none.
  std::string told(const std::string& node) {
    const std::optional<Request> last = request(node);
    if (!last || last->type != RequestType::certificate) return "";
    return last->certificate.empty() ? last->refusal : last->certificate;
  }
  void device_until(Millis end, const std::string& more = "") {
    device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
           R"(,"certificateExpires":")" + std::to_string(end) + R"(")" + more);
  }
  std::string described() { return api(R"({"op":"describe","kind":"node","name":"n1"})").dump(); }
  FakeIssuer issuer;
};

TEST_F(RenewalsTest, ANodeGetsACertificateOfItsAuthenticatedName) {
  start_connected();
  device_until(clock.wall() + 20 * kDayMs);
  ask("n1");
  EXPECT_EQ(issuer.nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(told("n1"), kCertificate);
  EXPECT_EQ(described().find("CertificateRenewed"), std::string::npos) << "it may not have arrived";
  device_until(clock.wall() + 2000 * kDayMs);
  EXPECT_NE(described().find("CertificateRenewed"), std::string::npos);
  EXPECT_EQ(described().find(R"("type":"CertificateExpiring")"), std::string::npos);
}

TEST_F(RenewalsTest, WhatIsNoSigningRequestDoesNotReachTheAuthority) {
  start_connected();
  device("n1");
  for (const char* junk :
       {R"({"type":"Renew","incarnation":"i1"})", R"({"type":"Renew","incarnation":"i1","request":7})",
        R"({"type":"Renew","incarnation":"i1","request":"-----BEGIN PRIVATE KEY-----"})"}) {
    receive(topics.answers("gateway", "n1"), junk);
  }
  ask("n1", std::string(kRequest) + kRequest);
  ask("n1", std::string(kCertificateBytesMax + 1, 'A'));
  EXPECT_TRUE(issuer.nodes.empty());
  EXPECT_EQ(log.warnings.size(), 5u);
}

TEST_F(RenewalsTest, AReasonIsToldToTheNodeItsConditionAndAnEvent) {
  start_connected();
  device_until(clock.wall() + 20 * kDayMs);
  issuer.outcome = IssuedCertificate{{}, "it was revoked", kDayMs};
  ask("n1");
  EXPECT_EQ(told("n1"), "it was revoked");
  EXPECT_NE(described().find("expires in 20 days, and was not renewed: it was revoked: run"), std::string::npos);
  EXPECT_NE(described().find("CertificateNotRenewed"), std::string::npos);
}

TEST_F(RenewalsTest, WhatTheDeviceSaysOfAFailureStandsInItsCondition) {
  start_connected();
  device_until(clock.wall() + 20 * kDayMs, R"(,"certificateProblem":"no space")");
  EXPECT_NE(described().find("and was not renewed: no space: run"), std::string::npos);
  device_until(clock.wall() + 20 * kDayMs, R"(,"certificateProblem":")" + std::string(600, 'q') + R"(")");
  EXPECT_EQ(described().find("qqq"), std::string::npos);
}

TEST_F(RenewalsTest, WithoutAnAuthorityTheConditionNamesTheCommand) {
  options.issuer = nullptr;
  start_connected();
  device_until(clock.wall() + 20 * kDayMs);
  ask("n1");
  EXPECT_NE(
      described().find("does not hold the authority of the broker's certificates: run `berthctl enroll n1 --renew`"),
      std::string::npos);
}

TEST_F(RenewalsTest, AFloodOfOneNodeCostsOneRequestAMinute) {
  start_connected();
  device("n1");
  device("n2");
  for (int i = 0; i < 500; ++i) ask("n1");
  ask("n2");
  EXPECT_EQ(issuer.nodes, (std::vector<std::string>{"n1", "n2"}));
  advance(Renewals::kAskEvery);
  ask("n1");
  EXPECT_EQ(issuer.nodes.size(), 3u);
}

TEST_F(RenewalsTest, TheAuthorityIsAskedForOneAtATimeAndOnlySoManyWait) {
  start_connected();
  issuer.outcome.reset();
  const std::size_t count = Renewals::kWaitingMax + 2;
  for (std::size_t i = 0; i < count; ++i) {
    device("n" + std::to_string(i));
    ask("n" + std::to_string(i));
  }
  EXPECT_EQ(issuer.nodes.size(), 1u);
  EXPECT_NE(told("n" + std::to_string(count - 1)).find("too many devices ask"), std::string::npos);
  EXPECT_EQ(told("n1"), "");
  for (std::size_t i = 0; i < count - 1; ++i) {
    const auto done = std::exchange(issuer.done, {});
    ASSERT_TRUE(done) << i;
    done({kCertificate, {}, 0});
  }
  turn();
  EXPECT_EQ(issuer.nodes.size(), count - 1);
  EXPECT_EQ(told("n1"), kCertificate);
}

TEST_F(RenewalsTest, AFleetGetsSoManyAnHour) {
  start_connected();
  for (std::size_t i = 0; i <= Renewals::kPerHour; ++i) {
    device("n" + std::to_string(i));
    ask("n" + std::to_string(i));
  }
  EXPECT_EQ(issuer.nodes.size(), Renewals::kPerHour);
  const std::string last = "n" + std::to_string(Renewals::kPerHour);
  EXPECT_NE(told(last).find("in the last hour"), std::string::npos);
  clock.now_ms += Millis{3600} * 1000;
  ask(last);
  EXPECT_EQ(told(last), kCertificate);
}

TEST_F(RenewalsTest, NothingIsIssuedWhileTheClockIsNotSet) {
  clock.booted_ms = 0;
  start_connected();
  device("n1");
  ask("n1");
  EXPECT_TRUE(issuer.nodes.empty());
  EXPECT_EQ(told("n1"), "the gateway's clock is not set");
}

TEST_F(RenewalsTest, ANodeThatIsForgottenMeanwhileGetsNothing) {
  start_connected();
  device("n1");
  issuer.outcome.reset();
  ask("n1");
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  std::exchange(issuer.done, {})({kCertificate, {}, 0});
  turn();
  EXPECT_EQ(told("n1"), "");
}

}  // namespace
}  // namespace berth
