// What registries ask for, and what curl is given to answer.
#include "firmware-host/agent/images/registry_auth.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(RegistryAuth, ReadsWhereTokensAreGiven) {
  const auto challenge = read_challenge(
      "HTTP/1.1 401 Unauthorized\r\n"
      "WWW-Authenticate: Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\"\r\n\r\n");
  ASSERT_TRUE(challenge);
  EXPECT_TRUE(challenge->is_bearer);
  EXPECT_EQ(challenge->realm, "https://auth.docker.io/token");
  EXPECT_EQ(challenge->service, "registry.docker.io");
}

TEST(RegistryAuth, TakesTheLastAnswerAfterARedirection) {
  const std::string head =
      "HTTP/1.1 307 Temporary Redirect\r\nwww-authenticate: Basic realm=\"other\"\r\n\r\nHTTP/2 200 \r\n\r\n";
  EXPECT_EQ(http_status_of(head), 200);
  EXPECT_FALSE(read_challenge(head));
}

TEST(RegistryAuth, KnowsBasicAndNothingElse) {
  const auto basic = read_challenge("HTTP/1.1 401 Unauthorized\r\nWww-Authenticate: Basic realm=\"test\"\r\n\r\n");
  ASSERT_TRUE(basic);
  EXPECT_FALSE(basic->is_bearer);
  EXPECT_FALSE(read_challenge("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\n\r\n"));
  EXPECT_FALSE(read_challenge("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer service=\"s\"\r\n\r\n"));
  EXPECT_FALSE(read_challenge(""));
  EXPECT_EQ(http_status_of("nonsense"), 0);
}

TEST(RegistryAuth, ReadsATokenByEitherName) {
  EXPECT_EQ(read_token(R"({"token":"t"})"), "t");
  EXPECT_EQ(read_token(R"({"access_token":"a"})"), "a");
  EXPECT_EQ(read_token(R"({"token":7})"), "");
  EXPECT_EQ(read_token("["), "");
}

TEST(RegistryAuth, LetsNoValueEndItsLineOfTheConfiguration) {
  EXPECT_EQ(curl_option("user", "an\"na\\:pass\nurl = evil"), "user = \"an\\\"na\\\\:passurl = evil\"\n");
}

TEST(RegistryAuth, AsksForATokenToPull) {
  EXPECT_EQ(token_request({true, "https://a.example/token", "s"}, "team/app", Credential{"anna", "secret"}),
            "url = \"https://a.example/token\"\nget\ndata-urlencode = \"service=s\"\n"
            "data-urlencode = \"scope=repository:team/app:pull\"\nuser = \"anna:secret\"\n");
}

}  // namespace
}  // namespace berth
