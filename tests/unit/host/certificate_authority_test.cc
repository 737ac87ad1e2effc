// The authority of the embedded broker, asked by devices: the real openssl, inside a loop that goes on.
#include "firmware-host/gateway/certificate_authority.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/gateway/broker_tls.h"
#include "firmware-host/loop.h"
#include "firmware-host/real_clock.h"
#include "tests/unit/transports/mosquitto_child.h"
#include "transports/client_certificate.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class CertificateAuthorityTest : public testing::Test {
 protected:
  CertificateAuthorityTest() {
    dir_ = directory_.file("tls");
    fs::create_directory(dir_);
    authority_.emplace(*Authority::open(dir_, "ca"));
    EXPECT_TRUE(authority_->issue_to_client("n1", directory_.file("n1")).is_success());
    key_ = *make_private_key();
    request_ = *make_signing_request(key_, "other");
  }
  IssuedCertificate ask(const std::string& node, const std::string& request) {
    std::optional<IssuedCertificate> outcome;
    issuer_.issue(node, request, [&](const IssuedCertificate& issued) { outcome = issued; });
    loop_.set_end_turn([&] {
      if (outcome) loop_.stop();
      return Status::ok();
    });
    if (!outcome) {
      EXPECT_TRUE(loop_.run().is_success());
    }
    return *outcome;
  }
  // <name>.crt again, of the same key; `by`: whether another one signs it.
  void make_valid_from_2099(const std::string& name, const std::vector<std::string>& by) {
    const std::string openssl = *find_program("openssl"), own = directory_.file("signing");
    fs::create_directory(own);
    std::ofstream(own + "/index") << "";
    std::ofstream(own + "/serial") << "1000\n";
    std::ofstream(own + "/cnf") << "[ca]\ndefault_ca=own\n[own]\npolicy=any\ndefault_md=sha256\nunique_subject=no\n"
                                << "database=" << own << "/index\nserial=" << own << "/serial\nnew_certs_dir=" << own
                                << "\n[any]\ncommonName=supplied\n";
    ASSERT_TRUE(run_program({openssl, "req", "-new", "-key", dir_ + "/" + name + ".key", "-subj", "/CN=berth " + name,
                             "-out", own + "/request"})
                    .is_success());
    std::vector<std::string> sign{openssl,      "ca",
                                  "-config",    own + "/cnf",
                                  "-batch",     "-notext",
                                  "-in",        own + "/request",
                                  "-keyfile",   dir_ + "/ca.key",
                                  "-out",       dir_ + "/" + name + ".crt",
                                  "-startdate", "20990101000000Z",
                                  "-enddate",   "21100101000000Z"};
    sign.insert(sign.end(), by.begin(), by.end());
    const Status done = run_program(sign);
    ASSERT_TRUE(done.is_success()) << done.message();
  }
  // As if the last renewal was so many hours ago.
  void age(int hours) {
    fs::last_write_time(dir_ + "/ca.issued/n1.crt.request",
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  TempDir directory_;
  std::string dir_, key_, request_;
  std::optional<Authority> authority_;
  RealClock clock_;
  Timers timers_;
  EventLoop loop_{clock_, timers_};
  CertificateAuthority issuer_{loop_.context(), clock_, timers_, directory_.file("tls")};
};

TEST_F(CertificateAuthorityTest, SignsTheKeyForTheNodesNameWhateverTheRequestSays) {
  const IssuedCertificate issued = ask("n1", request_);
  ASSERT_NE(issued.certificate, "") << issued.refusal;
  EXPECT_TRUE(is_pem(issued.certificate, "CERTIFICATE"));
  const Result<CertificateLife> life = examine_certificate(issued.certificate, {key_, "n1", dir_ + "/ca.crt"});
  ASSERT_TRUE(life) << life.error().message();
  EXPECT_GT(life->end, clock_.wall() + Millis{kCertificateDays - 1} * 24 * 3600 * 1000);
  EXPECT_TRUE(fs::exists(dir_ + "/ca.issued/n1.crt.1")) << "the one before is known, and can be revoked";
  for (const auto& entry : fs::directory_iterator(dir_)) {
    EXPECT_EQ(entry.path().string().find("renewal"), std::string::npos) << entry.path();
  }
}

TEST_F(CertificateAuthorityTest, WhatIsWrittenOnTheWayHasNamesThatABackupLeavesOut) {
  int written = 0;
  issuer_.issue("n1", request_, [&](const IssuedCertificate&) { loop_.stop(); });
  for (const auto& entry : fs::directory_iterator(dir_)) {
    const std::string path = entry.path().string();
    if (path.find("renewal") == std::string::npos) continue;
    ++written;
    EXPECT_TRUE(path.ends_with(".new")) << path;
  }
  EXPECT_GE(written, 2);
  ASSERT_TRUE(loop_.run().is_success());
}

TEST_F(CertificateAuthorityTest, ExtensionsOfTheRequestDoNotCount) {
  ASSERT_TRUE(
      run_program({*find_program("openssl"), "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                   "-nodes", "-subj", "/CN=berth ca", "-addext", "basicConstraints=critical,CA:TRUE", "-addext",
                   "subjectAltName=DNS:broker", "-keyout", directory_.file("k"), "-out", directory_.file("r")})
          .is_success());
  std::ifstream file(directory_.file("r"));
  const IssuedCertificate issued = ask("n1", std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_NE(issued.certificate, "") << issued.refusal;
  std::ofstream(directory_.file("c")) << issued.certificate;
  ASSERT_TRUE(run_program({*find_program("openssl"), "x509", "-in", directory_.file("c"), "-noout", "-text", "-out",
                           directory_.file("t")})
                  .is_success());
  std::ifstream told(directory_.file("t"));
  const std::string text(std::istreambuf_iterator<char>(told), {});
  EXPECT_EQ(text.find("CA:TRUE"), std::string::npos);
  EXPECT_EQ(text.find("DNS:"), std::string::npos);
  EXPECT_NE(text.find("TLS Web Client Authentication"), std::string::npos);
}

TEST_F(CertificateAuthorityTest, TheSameRequestGetsTheSameCertificateAndAnotherOneWaitsADay) {
  const IssuedCertificate first = ask("n1", request_);
  EXPECT_EQ(ask("n1", request_).certificate, first.certificate);
  const std::string other = *make_signing_request(*make_private_key(), "n1");
  EXPECT_NE(ask("n1", other).refusal.find("less than a day ago"), std::string::npos);
  age(25);
  EXPECT_EQ(ask("n1", request_).certificate, first.certificate);
  EXPECT_NE(ask("n1", other).certificate, "");
  age(24 * 40);
  EXPECT_NE(ask("n1", other).certificate, "") << "years later, one that lasts";
}

TEST_F(CertificateAuthorityTest, ARevokedOrUnknownNameGetsNothing) {
  EXPECT_NE(ask("n2", request_).refusal.find("never enrolled"), std::string::npos);
  ASSERT_NE(ask("n1", request_).certificate, "");
  ASSERT_TRUE(authority_->revoke("n1").is_success());
  EXPECT_NE(ask("n1", request_).refusal.find("it was revoked"), std::string::npos);
  EXPECT_FALSE(authority_->has_issued("n1"));
}

TEST_F(CertificateAuthorityTest, WhileTheAuthorityIsInUseElsewhereNothingIsIssued) {
  const AuthorityLock lock(dir_, "ca", false);
  ASSERT_TRUE(lock.is_held());
  const IssuedCertificate issued = ask("n1", request_);
  EXPECT_EQ(issued.refusal, "the authority is in use");
  EXPECT_GT(issued.retry_ms, 0);
}

TEST_F(CertificateAuthorityTest, WhatOpensslDoesNotAcceptIsRefusedAndNothingIsLeftIssued) {
  std::string wrong = request_;
  wrong[wrong.find('\n') + 70] ^= 1;  // the key or the signature
  for (const std::string& request : {wrong, std::string("-----BEGIN CERTIFICATE REQUEST-----\nMQ==\n"
                                                        "-----END CERTIFICATE REQUEST-----\n")}) {
    const IssuedCertificate issued = ask("n1", request);
    EXPECT_NE(issued.refusal.find("is not accepted"), std::string::npos) << issued.refusal;
    EXPECT_LT(issued.refusal.size(), 300u);
  }
  EXPECT_FALSE(fs::exists(dir_ + "/ca.issued/n1.crt.1"));
  EXPECT_NE(ask("n1", request_).certificate, "") << "and the next one is served";
}

TEST_F(CertificateAuthorityTest, ANameHasOnlySoManyValidCertificates) {
  const std::string issued = dir_ + "/ca.issued/n1.crt";
  for (int number = 1; number <= 16; ++number) fs::copy(issued, issued + "." + std::to_string(number));
  EXPECT_NE(ask("n1", request_).refusal.find("--replace"), std::string::npos);
}

// A gateway that was killed while it recorded a certificate told the device that it was revoked.
TEST_F(CertificateAuthorityTest, ANameWhoseCertificateCannotBeRecordedKeepsTheOneBefore) {
  ASSERT_TRUE(authority_->begin_renewal("n1", request_));
  EXPECT_FALSE(authority_->end_renewal("n1", request_)) << "nobody has signed it";
  EXPECT_TRUE(authority_->has_issued("n1"));
  EXPECT_NE(ask("n1", request_).certificate, "");
  EXPECT_TRUE(fs::exists(dir_ + "/ca.issued/n1.crt.1"));
  EXPECT_FALSE(fs::exists(dir_ + "/ca.issued/n1.crt.2")) << "the one before is kept once";
}

// Stopped between the list and the end of the file that it took the certificate from.
TEST_F(CertificateAuthorityTest, ARevocationThatWasStoppedHalfWayCanBeRepeated) {
  const std::string issued = dir_ + "/ca.issued/n1.crt";
  fs::copy(issued, directory_.file("kept"));
  ASSERT_TRUE(authority_->revoke("n1").is_success());
  fs::copy(directory_.file("kept"), issued);
  const Status again = authority_->revoke("n1");
  EXPECT_TRUE(again.is_success()) << again.message();
  EXPECT_FALSE(authority_->has_issued("n1"));
}

TEST_F(CertificateAuthorityTest, WithoutTheKeyOfAnAuthorityItSaysSo) {
  fs::remove(dir_ + "/ca.key");
  EXPECT_NE(ask("n1", request_).refusal.find("does not hold the authority"), std::string::npos);
}

TEST_F(CertificateAuthorityTest, TheNextRequestMayComeWhenOneIsAnswered) {
  std::vector<std::string> certificates;
  std::function<void(const IssuedCertificate&)> next = [&](const IssuedCertificate& issued) {
    certificates.push_back(issued.certificate);
    if (certificates.size() < 3) issuer_.issue("n1", request_, next);
    if (certificates.size() == 3) loop_.stop();
  };
  issuer_.issue("n1", request_, next);
  ASSERT_TRUE(loop_.run().is_success());
  EXPECT_EQ(certificates.size(), 3u);
  EXPECT_EQ(certificates[2], certificates[0]);
}

TEST(CertificateAuthorityEnd, LeavesNoProcessAndCallsNothing) {
  TempDir directory;
  const std::string dir = directory.file("tls");
  fs::create_directory(dir);
  const Authority authority = *Authority::open(dir, "ca");
  ASSERT_TRUE(authority.issue_to_client("n1", directory.file("n1")).is_success());
  RealClock clock;
  Timers timers;
  EventLoop loop(clock, timers);
  {
    CertificateAuthority issuer(loop.context(), clock, timers, dir);
    issuer.issue("n1", *make_signing_request(*make_private_key(), "n1"), [](const IssuedCertificate&) { FAIL(); });
  }
  EXPECT_EQ(timers.next(), std::nullopt);
  EXPECT_TRUE(AuthorityLock(dir, "ca", false).is_held());
}

// What is made while the clock is ahead. The list is as if it was written in 2099.
TEST_F(CertificateAuthorityTest, AListOfRevokedOnesThatIsNotValidYetIsWrittenAgain) {
  const std::string list = dir_ + "/ca.crl";
  EXPECT_EQ(*not_valid_until(list), "");
  EXPECT_FALSE(*authority_->mend_list());
  ASSERT_TRUE(run_program({*find_program("openssl"), "ca", "-config", dir_ + "/ca.cnf", "-gencrl", "-crl_lastupdate",
                           "20990101000000Z", "-crl_nextupdate", "21000101000000Z", "-out", list})
                  .is_success());
  EXPECT_EQ(*not_valid_until(list), "2099-01-01 00:00:00Z");
  EXPECT_TRUE(*settle_revocations(dir_));
  EXPECT_EQ(*not_valid_until(list), "");
}

TEST_F(CertificateAuthorityTest, CertificatesThatAreNotValidYetAreMadeAgainAndAnAuthorityIsNamed) {
  EXPECT_EQ(problem_of_authority(dir_), "");
  ASSERT_TRUE(*settle_server_certificate(dir_, {"gateway"}));
  EXPECT_FALSE(*settle_server_certificate(dir_, {"gateway"}));
  make_valid_from_2099("server", {"-cert", dir_ + "/ca.crt"});
  EXPECT_EQ(*not_valid_until(dir_ + "/server.crt"), "2099-01-01 00:00:00Z");
  EXPECT_TRUE(*settle_server_certificate(dir_, {"gateway"}));
  EXPECT_EQ(*not_valid_until(dir_ + "/server.crt"), "");
  make_valid_from_2099("ca", {"-selfsign"});
  EXPECT_NE(problem_of_authority(dir_).find("is valid from 2099-01-01 00:00:00Z only"), std::string::npos)
      << problem_of_authority(dir_);
}

}  // namespace
}  // namespace berth
