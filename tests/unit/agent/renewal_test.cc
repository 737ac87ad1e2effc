// N10: when a device asks for its next certificate, and what it makes of the answer.
#include "core/agent/renewal.h"

#include "core/json/json.h"
#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

constexpr Millis kDayMs = Millis{24} * 3600 * 1000;
constexpr Millis kHourMs = Millis{3600} * 1000;
constexpr char kRequest[] = "-----BEGIN CERTIFICATE REQUEST-----\nMQ==\n-----END CERTIFICATE REQUEST-----\n";
constexpr char kCertificate[] = "-----BEGIN CERTIFICATE-----\nMQ==\n-----END CERTIFICATE-----\n";

struct FakeKeeper final : CertificateKeeper {
  std::optional<CertificateLife> life() const override { return valid; }
  Result<std::string> request() override {
    if (!broken.empty()) return Status::error(broken);
    return std::string(kRequest);
  }
  Status take(const std::string& certificate) override {
    taken.push_back(certificate);
    if (!broken.empty()) return Status::error(broken);
    valid = CertificateLife{0, 4000 * kDayMs};
    return Status::ok();
  }
  std::optional<CertificateLife> valid = CertificateLife{-kDayMs, 0};  // the clock is at 0
  std::string broken;
  std::vector<std::string> taken;
};

class RenewingAgent : public AgentTest {
 protected:
  RenewingAgent() {
    config.certificates = &keeper;
    boot();
  }
  void list(ProtocolVersion gateway = kProtocol) {
    Request request = request_of(RequestType::list);
    request.incarnation.clear();
    request.uid.clear();
    request.protocol = gateway;
    deliver(request);
  }
  // How many times it has asked since the last call.
  int asked() {
    int count = 0;
    for (const Answer& answer : take_answers()) count += answer.type == AnswerType::renew;
    return count;
  }
  void answer(const std::string& certificate, const std::string& refusal = "", Millis retry_ms = 0) {
    Request request(RequestType::certificate);
    request.gateway = "gw";
    request.gateway_id = {2, "store"};
    request.certificate = certificate;
    request.refusal = refusal;
    request.retry_ms = retry_ms;
    deliver(request);
  }
  std::string told_problem() {
    std::string problem;
    for (const Message& message : transport.sent) {
      if (!message.topic.ends_with("/state")) continue;
      const Result<Json> state = Json::parse(message.payload);
      problem = state->find("certificateProblem") == nullptr ? "" : std::string(state->string_at("certificateProblem"));
    }
    return problem;
  }
  FakeKeeper keeper;
};

TEST_F(RenewingAgent, AsksTheGatewayThatListsItAndTakesTheCertificate) {
  list();
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].type, AnswerType::renew);
  EXPECT_EQ(answers[1].certificate_request, kRequest);
  answer(kCertificate);
  EXPECT_EQ(keeper.taken, std::vector<std::string>{kCertificate});
  pass(30 * kDayMs);
  list();
  EXPECT_EQ(asked(), 0) << "the new one is not due";
}

TEST_F(RenewingAgent, DoesNotAskBeforeItsTimeNorAGatewayThatDoesNotKnowTheQuestion) {
  list({1, 4});
  EXPECT_EQ(asked(), 0);
  keeper.valid = CertificateLife{-kDayMs, 4000 * kDayMs};
  list();
  EXPECT_EQ(asked(), 0);
  keeper.valid = std::nullopt;
  list();
  EXPECT_EQ(asked(), 0);
}

TEST_F(RenewingAgent, AsksAgainEverMoreSeldomUntilItIsAnswered) {
  list();
  EXPECT_EQ(asked(), 1);
  list();
  EXPECT_EQ(asked(), 0);
  for (const Millis wait : {kHourMs / 12, kHourMs / 6, kHourMs / 3, 2 * kHourMs / 3, kHourMs, kHourMs}) {
    pass(wait - 1);
    list();
    EXPECT_EQ(asked(), 0) << wait;
    pass(1);
    list();
    EXPECT_EQ(asked(), 1) << wait;
  }
}

TEST_F(RenewingAgent, AsksAgainAtAConnectionWhatWasNotAnsweredButNotWhatWasRefused) {
  for (int connection = 0; connection < 3; ++connection) {
    list();
    EXPECT_EQ(asked(), 1);
    set_link(false);
    set_link(true);
  }
  list();
  answer("", "revoked");
  set_link(false);
  set_link(true);
  list();
  EXPECT_EQ(asked(), 1) << "before the refusal";
}

TEST_F(RenewingAgent, AsksOnceADayAfterARefusalAndSaysWhy) {
  list();
  answer("", "revoked");
  EXPECT_EQ(told_problem(), "the gateway refused: revoked");
  take_answers();
  pass(kDayMs - 1);
  list();
  EXPECT_EQ(asked(), 0);
  pass(1);
  list();
  EXPECT_EQ(asked(), 1);
  answer("", "busy", kHourMs);
  pass(kHourMs);
  list();
  EXPECT_EQ(asked(), 1);
  for (const Millis unreasonable : {Millis{1}, 1000 * kDayMs}) {
    answer("", "busy", unreasonable);
    list();
    EXPECT_EQ(asked(), 0);
    pass(unreasonable == 1 ? kHourMs / 60 : kDayMs);
    list();
    EXPECT_EQ(asked(), 1) << unreasonable;
  }
}

TEST_F(RenewingAgent, SaysWhatIsWrongWithACertificateOrWithMakingAKey) {
  list();
  keeper.broken = "the certificate is for another key";
  answer(kCertificate);
  EXPECT_EQ(told_problem(), keeper.broken);
  take_answers();
  pass(kDayMs);
  keeper.broken = "cannot keep a new key: no space";
  list();
  EXPECT_EQ(told_problem(), keeper.broken);
  EXPECT_EQ(asked(), 0);
  keeper.broken.clear();
  pass(kHourMs);
  list();
  EXPECT_EQ(asked(), 1);
  answer(kCertificate);
  set_link(false);
  set_link(true);
  EXPECT_EQ(told_problem(), "");
}

TEST_F(RenewingAgent, TakesACertificateOfTheGatewayItObeysOnly) {
  list();
  Request request(RequestType::certificate);
  request.gateway = "gw";
  request.gateway_id = {1, "store"};
  request.certificate = kCertificate;
  deliver(request);
  request.gateway_id = {2, "store"};
  request.gateway = "another";
  deliver(request);
  EXPECT_TRUE(keeper.taken.empty());
}

TEST_F(AgentTest, ADeviceWithoutACertificateIgnoresWhatItIsSent) {
  boot();
  Request request(RequestType::certificate);
  request.gateway = "gw";
  request.gateway_id = {2, "store"};
  request.certificate = kCertificate;
  deliver(request);
  EXPECT_TRUE(take_answers().empty());
}

TEST(RenewalBegins, BetweenAThirdAndAQuarterOfTheLifeBeforeTheEnd) {
  const CertificateLife life{0, 1200 * kDayMs};
  EXPECT_EQ(renewal_begins(life, 0), 800 * kDayMs);
  std::set<Millis> times;
  Random random(1);
  for (int device = 0; device < 100; ++device) {
    const Millis begin = renewal_begins(life, random.next());
    EXPECT_GE(begin, 800 * kDayMs);
    EXPECT_LE(begin, 900 * kDayMs);
    times.insert(begin / kDayMs);
  }
  EXPECT_GT(times.size(), 50u) << "a fleet enrolled on one day does not ask on one day";
  EXPECT_EQ(renewal_begins({kDayMs, 0}, 7), 0) << "nonsense is due";
}

}  // namespace
}  // namespace berth
