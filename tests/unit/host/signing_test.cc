// Both ends of the signing socket: the gateway's, and the program that the service manager starts for a connection.
#include "firmware-host/gateway/signing.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "firmware-host/gateway/authority.h"
#include "firmware-host/loop.h"
#include "firmware-host/real_clock.h"
#include "tests/unit/transports/mosquitto_child.h"
#include "transports/client_certificate.h"

namespace berth {
namespace {

class SigningTest : public testing::Test {
 protected:
  SigningTest() {
    dir_ = directory_.file("tls");
    std::filesystem::create_directory(dir_);
    EXPECT_TRUE(Authority::open(dir_, "ca")->issue_to_client("n1", directory_.file("n1")).is_success());
    request_ = *make_signing_request(*make_private_key(), "other");
  }
  ~SigningTest() override {
    if (listener_ >= 0) ::close(listener_);
    if (server_.joinable()) server_.join();
  }
  // Serves one connection, as the service manager does with Accept=yes.
  void serve(std::function<void(int)> answer) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener_, 1), 0);
    server_ = std::thread([this, answer = std::move(answer)] {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      answer(connection);
      ::close(connection);
    });
  }
  IssuedCertificate ask(const std::string& node, const std::string& request) {
    std::optional<IssuedCertificate> outcome;
    client_.issue(node, request, [&](const IssuedCertificate& issued) {
      outcome = issued;
      loop_.stop();
    });
    if (!outcome) EXPECT_TRUE(loop_.run().is_success());
    return *outcome;
  }
  // What the program answers to this text.
  std::string answer_to(const std::string& text) const {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    EXPECT_EQ(::write(ends[0], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::shutdown(ends[0], SHUT_WR);
    EXPECT_EQ(sign_one(dir_, ends[1], ends[1]), 0);
    ::close(ends[1]);
    std::string answer(65536, '\0');
    answer.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], answer.data(), answer.size()))));
    ::close(ends[0]);
    return answer;
  }

  TempDir directory_;
  std::string dir_, request_;
  const std::string path_ = directory_.file("signing.sock");
  RealClock clock_;
  Timers timers_;
  EventLoop loop_{clock_, timers_};
  SigningClient client_{loop_.context(), clock_, timers_, path_};
  int listener_ = -1;
  std::thread server_;
};

TEST_F(SigningTest, ARequestIsSignedForTheNodesName) {
  serve([this](int connection) { EXPECT_EQ(sign_one(dir_, connection, connection), 0); });
  const IssuedCertificate issued = ask("n1", request_);
  EXPECT_TRUE(is_pem(issued.certificate, "CERTIFICATE")) << issued.refusal;
  EXPECT_EQ(*Authority::open(dir_, "ca")->seconds_since_renewal("n1") / 3600, 0);
}

TEST_F(SigningTest, WhatTheAuthorityRefusesIsToldWithItsReason) {
  serve([this](int connection) { EXPECT_EQ(sign_one(dir_, connection, connection), 0); });
  const IssuedCertificate issued = ask("n2", request_);
  EXPECT_NE(issued.refusal.find("no certificate of n2 is valid here"), std::string::npos) << issued.refusal;
  EXPECT_EQ(issued.retry_ms, Millis{24} * 3600 * 1000);
}

TEST_F(SigningTest, WithoutASocketThisGatewayDoesNotHoldTheAuthority) {
  const IssuedCertificate issued = ask("n1", request_);
  EXPECT_NE(issued.refusal.find("does not hold the authority"), std::string::npos) << issued.refusal;
  EXPECT_GT(issued.retry_ms, 0);
}

TEST_F(SigningTest, WhereNobodyListensTheReasonNamesTheSocket) {
  std::ofstream(path_) << "left behind";
  const IssuedCertificate issued = ask("n1", request_);
  EXPECT_NE(issued.refusal.find(path_ + ": Connection refused"), std::string::npos) << issued.refusal;
  EXPECT_GT(issued.retry_ms, 0);
}

TEST_F(SigningTest, AServiceThatEndsWithoutAnAnswerIsARefusal) {
  serve([](int) {});
  EXPECT_NE(ask("n1", request_).refusal, "");
}

TEST_F(SigningTest, AnAnswerThatIsNoCertificateIsNotBelieved) {
  serve([](int connection) {
    std::string answer = R"({"certificate":"-----BEGIN JUNK-----","refusal":""})";
    EXPECT_GT(::write(connection, answer.data(), answer.size()), 0);
    char bytes[4096];
    while (::read(connection, bytes, sizeof bytes) > 0) continue;
  });
  const IssuedCertificate issued = ask("n1", request_);
  EXPECT_EQ(issued.certificate, "");
  EXPECT_NE(issued.refusal.find("has not answered"), std::string::npos) << issued.refusal;
}

TEST_F(SigningTest, AnInvalidQuestionIsAnsweredWithTheFieldThatIsWrong) {
  for (const auto& [text, why] : {std::pair{"", "expected an object"},
                                  {"[]", "expected an object"},
                                  {R"({"node":"../n1","request":""})", "node: expected the name of a node"},
                                  {R"({"node":"n1","request":"x"})", "request: expected a certificate signing request"},
                                  {R"({"node":7})", "node: expected"}}) {
    EXPECT_NE(answer_to(text).find(why), std::string::npos) << text << ": " << answer_to(text);
  }
  EXPECT_NE(answer_to(std::string(40'000, ' ')).find("expected an object"), std::string::npos);
}

}  // namespace
}  // namespace berth
