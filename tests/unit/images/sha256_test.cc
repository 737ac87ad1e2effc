#include "firmware-host/agent/images/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

TEST(Sha256, GivesTheDigestsOfTheStandardsExamples) {
  // FIPS 180-4 examples (csrc.nist.gov, SHA256.pdf), and the empty message.
  EXPECT_EQ(sha256_digest(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_digest("abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_digest(std::string(1'000'000, 'a')),
            "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive) {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string bytes(length, 'x');
    Sha256 sha;
    for (const char& byte : bytes) sha.update({&byte, 1});
    EXPECT_EQ(sha.digest(), sha256_digest(bytes)) << length;
  }
}

}  // namespace
}  // namespace berth
