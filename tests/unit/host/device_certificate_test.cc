// The pair that a device connects with: made, examined, replaced, and given up again, whenever the power is cut.
#include "firmware-host/agent/device_certificate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "firmware-host/gateway/authority.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/real_clock.h"
#include "tests/unit/transports/mosquitto_child.h"
#include "transports/client_certificate.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr Millis kYear = Millis{365} * 24 * 3600 * 1000;

class SilentLog final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DeviceCertificateTest : public testing::Test {
 protected:
  DeviceCertificateTest() {
    for (const char* name : {"authority", "other", "state"}) fs::create_directory(directory_.file(name));
    authority_.emplace(*Authority::open(directory_.file("authority"), "ca"));
    EXPECT_TRUE(authority_->issue_to_client("n1", directory_.file("n1")).is_success());
    open();
  }
  // As a start of the agent.
  void open() {
    device_.emplace(
        DeviceCertificate::Files{directory_.file("n1.crt"), directory_.file("n1.key"),
                                 directory_.file("authority/ca.crt"), directory_.file("state"), "n1"},
        [this] { return now_; }, log_);
  }
  std::string sign(const std::string& request, const std::string& name = "n1") {
    return sign_by(*authority_, request, name);
  }
  static std::string sign_by(const Authority& authority, const std::string& request, const std::string& name) {
    const auto command = authority.begin_renewal(name, request);
    EXPECT_TRUE(command && run_program(*command).is_success());
    return *authority.end_renewal(name, request);
  }
  std::string renewed_file() { return directory_.file("state/certificate.pem"); }
  std::string next_file() { return directory_.file("state/certificate.next.pem"); }
  // Why the certificate is not taken; empty: it was.
  std::string take(const std::string& certificate) { return device_->take(certificate).message(); }
  void renew() {
    const std::string certificate = sign(*device_->request());
    fs::last_write_time(directory_.file("authority/ca.issued/n1.crt.request"), fs::file_time_type::min());
    ASSERT_EQ(take(certificate), "");
  }

  TempDir directory_;
  SilentLog log_;
  Millis now_ = RealClock().wall();
  std::optional<Authority> authority_;
  std::optional<DeviceCertificate> device_;
};

TEST_F(DeviceCertificateTest, IsTheConfiguredOneUntilACertificateForTheNextKeyIsTaken) {
  EXPECT_EQ(device_->pair().cert, directory_.file("n1.crt"));
  EXPECT_FALSE(device_->take_renewed());
  renew();
  EXPECT_TRUE(device_->take_renewed());
  EXPECT_EQ(device_->pair().cert, renewed_file());
  EXPECT_EQ(device_->pair().key, renewed_file());
  EXPECT_FALSE(fs::exists(next_file()));
  EXPECT_EQ(fs::status(renewed_file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  open();
  EXPECT_EQ(device_->pair().cert, renewed_file());
}

TEST_F(DeviceCertificateTest, TheRequestIsTheSameUntilItsCertificateIsTakenAndHoldsNoKey) {
  const std::string request = *device_->request();
  EXPECT_TRUE(is_pem(request, "CERTIFICATE REQUEST"));
  open();
  EXPECT_EQ(*device_->request(), request);
  EXPECT_EQ(take(sign(request)), "");
  EXPECT_NE(*device_->request(), request);
}

TEST_F(DeviceCertificateTest, ADamagedRequestIsMadeAgain) {
  const std::string request = *device_->request();
  fs::resize_file(next_file(), 300);
  EXPECT_NE(*device_->request(), request);
  renew();
}

TEST_F(DeviceCertificateTest, RefusesWhatIsNotForItsKeyItsNameItsAuthorityOrNow) {
  const std::string request = *device_->request();
  EXPECT_NE(take("junk").find("cannot read the certificate"), std::string::npos);
  EXPECT_NE(take(text_of_file(directory_.file("n1.crt"))).find("another key"), std::string::npos);
  EXPECT_NE(take(sign(request, "n2")).find("another name than n1"), std::string::npos);
  const Authority other = *Authority::open(directory_.file("other"), "ca");
  EXPECT_NE(take(sign_by(other, request, "n1")).find("not one of the authority"), std::string::npos);
  const std::string good = sign(request);
  now_ += 6 * kYear;
  EXPECT_NE(take(good).find("which is not now"), std::string::npos);
  now_ -= 8 * kYear;
  EXPECT_NE(take(good).find("which is not now"), std::string::npos);
  EXPECT_EQ(device_->pair().cert, directory_.file("n1.crt"));
  EXPECT_FALSE(fs::exists(renewed_file()));
  now_ += 2 * kYear;
  EXPECT_EQ(take(good), "");
}

TEST_F(DeviceCertificateTest, ACertificateThatComesTwiceOrUnaskedChangesNothing) {
  const std::string certificate = sign(*device_->request());
  EXPECT_EQ(take(certificate), "");
  EXPECT_TRUE(device_->take_renewed());
  EXPECT_EQ(take(certificate), "");
  EXPECT_FALSE(device_->take_renewed());
  EXPECT_NE(take(text_of_file(directory_.file("n1.crt"))).find("does not have"), std::string::npos);
}

// Every state of the directory in which the power may be cut.
TEST_F(DeviceCertificateTest, ACutBetweenAnyTwoWritesLeavesAPairAndARenewalThatGoesOn) {
  renew();
  const std::string request = *device_->request();
  const std::string certificate = sign(request);
  const std::string state = directory_.file("state");
  const fs::path before = directory_.file("before");
  fs::copy(state, before);
  const auto cut_to = [&](const std::function<void()>& change) {
    fs::remove_all(state);
    fs::copy(before, state);
    change();
    open();
  };
  const std::string key = text_of_file(next_file()).substr(0, text_of_file(next_file()).find("-----BEGIN CERT"));
  const std::function<void()> cuts[] = {
      [] {},
      [&] { fs::remove(state + "/certificate.previous.pem"); },
      [&] { fs::copy(renewed_file(), state + "/certificate.previous.pem"); },
      [&] { std::ofstream(state + "/certificate.pem~new") << "half"; },
  };
  for (const auto& cut : cuts) {
    cut_to(cut);
    EXPECT_EQ(device_->pair().cert, renewed_file());
    EXPECT_EQ(*device_->request(), request);
    EXPECT_EQ(take(certificate), "");
    EXPECT_NE(text_of_file(renewed_file()).find(certificate), std::string::npos);
  }
  // The pair is complete, its request still there: never asked with again, or the same certificate would come.
  cut_to([&] { std::ofstream(renewed_file()) << key << certificate; });
  EXPECT_EQ(device_->pair().cert, renewed_file());
  EXPECT_NE(*device_->request(), request);
}

TEST_F(DeviceCertificateTest, WhatTheBrokerRefusesGivesWayToThePairBefore) {
  renew();
  for (int i = 1; i < DeviceCertificate::kRefusalsMax; ++i) EXPECT_FALSE(device_->note_refused());
  device_->note_accepted();
  EXPECT_EQ(device_->pair().cert, renewed_file()) << "not in a row";
  for (int i = 1; i < DeviceCertificate::kRefusalsMax; ++i) EXPECT_FALSE(device_->note_refused());
  EXPECT_TRUE(device_->note_refused());
  EXPECT_EQ(device_->pair().cert, directory_.file("n1.crt"));
  EXPECT_TRUE(fs::exists(renewed_file())) << "the broker may refuse that one too";
  for (int i = 0; i < DeviceCertificate::kRefusalsMax; ++i) device_->note_refused();
  EXPECT_EQ(device_->pair().cert, renewed_file());
  for (int i = 0; i < DeviceCertificate::kRefusalsMax; ++i) device_->note_refused();
  device_->note_accepted();
  EXPECT_FALSE(fs::exists(renewed_file()));
  EXPECT_EQ(device_->pair().cert, directory_.file("n1.crt"));
  EXPECT_TRUE(fs::exists(directory_.file("n1.crt")));
}

TEST_F(DeviceCertificateTest, APairThatWasEnrolledLaterOrOfAnotherNameOrAuthorityComesFirst) {
  renew();
  // Another authority, to which the device was enrolled again.
  fs::remove_all(directory_.file("authority"));
  fs::create_directory(directory_.file("authority"));
  authority_.emplace(*Authority::open(directory_.file("authority"), "ca"));
  ASSERT_TRUE(authority_->issue_to_client("n1", directory_.file("n1")).is_success());
  open();
  EXPECT_EQ(device_->pair().cert, directory_.file("n1.crt"));
  renew();
  EXPECT_EQ(device_->pair().cert, renewed_file());
}

TEST_F(DeviceCertificateTest, ADamagedRenewalIsLeftOut) {
  renew();
  renew();
  fs::resize_file(renewed_file(), 400);
  open();
  EXPECT_EQ(device_->pair().cert, directory_.file("state/certificate.previous.pem"));
}

}  // namespace
}  // namespace berth
