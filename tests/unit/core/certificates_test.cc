// The form of PEM texts, before anything reads them.
#include "core/certificates.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr char kBegin[] = "-----BEGIN CERTIFICATE-----\n";
constexpr char kEnd[] = "\n-----END CERTIFICATE-----\n";

TEST(Pem, IsOneBlockOfItsLabelAndNothingElse) {
  const std::string good = std::string(kBegin) + "MIIB+/a0\nMQ==" + kEnd;
  EXPECT_TRUE(is_pem(good, "CERTIFICATE"));
  EXPECT_TRUE(is_pem(good.substr(0, good.size() - 1), "CERTIFICATE"));
  EXPECT_FALSE(is_pem(good, "CERTIFICATE REQUEST"));
  EXPECT_FALSE(is_pem(good + good, "CERTIFICATE"));
  EXPECT_FALSE(is_pem("x" + good, "CERTIFICATE"));
  EXPECT_FALSE(is_pem(good + "x", "CERTIFICATE"));
  EXPECT_FALSE(is_pem(std::string(kBegin) + "Proc-Type: 4,ENCRYPTED" + kEnd, "CERTIFICATE"));
  EXPECT_FALSE(is_pem(std::string(kBegin) + std::string("M\0", 2) + kEnd, "CERTIFICATE"));
  EXPECT_FALSE(is_pem("", "CERTIFICATE"));
  EXPECT_FALSE(is_pem("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "CERTIFICATE"));
}

TEST(Pem, HasALimitedSize) {
  const std::size_t room = kCertificateBytesMax - std::string(kBegin).size() - std::string(kEnd).size();
  EXPECT_TRUE(is_pem(kBegin + std::string(room, 'A') + kEnd, "CERTIFICATE"));
  EXPECT_FALSE(is_pem(kBegin + std::string(room + 1, 'A') + kEnd, "CERTIFICATE"));
}

}  // namespace
}  // namespace berth
