// Which credentials of a pod's Secrets are tried for an image.
#include "firmware-host/agent/images/registry_keyring.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "core/base64.h"
#include "tests/unit/transports/mosquitto_child.h"

namespace berth {
namespace {

RegistryKeyring keyring(const std::string& auths) {
  RegistryKeyring made;
  EXPECT_TRUE(made.add({{".dockerconfigjson", R"({"auths":)" + auths + "}"}}).is_success());
  return made;
}

std::string users_for(const RegistryKeyring& keyring, const std::string& image) {
  std::string users;
  for (const Credential& each : keyring.find(parse_image_reference(image).value())) users += each.username + " ";
  return users;
}

TEST(RegistryKeyring, FindsCredentialsByHostPortAndPathWithTheLongestPathFirst) {
  const RegistryKeyring made = keyring(R"({"registry.example:5000":{"username":"host","password":"p"},
    "registry.example:5000/team":{"username":"team","password":"p"},
    "registry.example":{"username":"other port","password":"p"}})");
  EXPECT_EQ(users_for(made, "registry.example:5000/team/app:1"), "team host ");
  EXPECT_EQ(users_for(made, "registry.example:5000/app:1"), "host ");
  EXPECT_EQ(users_for(made, "elsewhere.example/app:1"), "");
}

TEST(RegistryKeyring, MatchesAStarWithinOnePartOfTheHost) {
  const RegistryKeyring made = keyring(R"({"*.example.com":{"username":"star","password":"p"}})");
  EXPECT_EQ(users_for(made, "a.example.com/app"), "star ");
  EXPECT_EQ(users_for(made, "example.com/app"), "");
  EXPECT_EQ(users_for(made, "a.b.example.com/app"), "");
}

TEST(RegistryKeyring, KnowsTheNamesThatDockerGivesItsHub) {
  const RegistryKeyring made = keyring(R"({"https://index.docker.io/v1/":{"username":"hub","password":"p"}})");
  EXPECT_EQ(users_for(made, "busybox"), "hub ");
  EXPECT_EQ(users_for(made, "docker.io/team/app"), "hub ");
  EXPECT_EQ(users_for(made, "quay.io/team/app"), "");
}

TEST(RegistryKeyring, TakesSchemesAndVersionsOfTheProtocolForTheHost) {
  EXPECT_EQ(users_for(keyring(R"({"https://r.example/v2/":{"username":"a","password":"p"}})"), "r.example/x"), "a ");
  EXPECT_EQ(users_for(keyring(R"({"http://r.example/":{"username":"a","password":"p"}})"), "r.example/x"), "a ");
}

TEST(RegistryKeyring, KeepsTheOrderOfSecretsForOnePlace) {
  RegistryKeyring made = keyring(R"({"r.example":{"username":"first","password":"p"}})");
  ASSERT_TRUE(made.add({{".dockercfg", R"({"r.example":{"username":"second","password":"p"}})"}}).is_success());
  EXPECT_EQ(users_for(made, "r.example/x"), "first second ");
}

TEST(RegistryKeyring, PrefersAuthWithOrWithoutPaddingToUsernameAndPassword) {
  std::string auth = to_base64("anna:pa:ss");
  while (auth.ends_with('=')) auth.pop_back();
  const RegistryKeyring made = keyring(R"({"r.example":{"username":"x","password":"y","auth":")" + auth + R"("}})");
  EXPECT_EQ(made.find(parse_image_reference("r.example/x").value()), (std::vector<Credential>{{"anna", "pa:ss"}}));
}

TEST(RegistryKeyring, RefusesWhatIsMalformedAndShowsNothingOfIt) {
  RegistryKeyring made;
  for (const char* text : {"hunter2", R"(["hunter2"])", R"({"auths":{"r.example":{"auth":"hunter2"}}})"}) {
    const Status added = made.add({{".dockerconfigjson", text}});
    EXPECT_FALSE(added.is_success()) << text;
    EXPECT_NE(added.message().find(".dockerconfigjson"), std::string::npos) << added.message();
    EXPECT_EQ(added.message().find("hunter2"), std::string::npos) << added.message();
  }
  EXPECT_EQ(users_for(made, "r.example/x"), "");
}

TEST(RegistryKeyring, LeavesOutSecretsOfOtherKinds) {
  RegistryKeyring made;
  EXPECT_TRUE(made.add({{"password", "x"}}).is_success());
  EXPECT_TRUE(made.add({{".dockerconfigjson", ""}}).is_success());
  EXPECT_EQ(users_for(made, "r.example/x"), "");
}

class CredentialOfFile : public testing::Test {
 protected:
  Result<std::optional<Credential>> credential(const std::string& text, const std::string& image) {
    std::ofstream(path()) << text;
    return credential_of_file(path(), parse_image_reference(image).value());
  }
  std::string path() const { return directory_.file("auth.json"); }

  TempDir directory_;
};

TEST_F(CredentialOfFile, IsThatOfTheLongestPlaceOrNone) {
  const std::string text = R"({"auths":{"r.example":{"auth":"aG9zdDpw"},"r.example/team":{"auth":"dGVhbTpw"},
    "kept.example":{}}})";
  EXPECT_EQ(credential(text, "r.example/team/app:1").value(), (Credential{"team", "p"}));
  EXPECT_EQ(credential(text, "r.example/app:1").value(), (Credential{"host", "p"}));
  EXPECT_EQ(credential(text, "kept.example/app:1").value(), std::nullopt);
  EXPECT_EQ(credential(text, "other.example/app:1").value(), std::nullopt);
}

TEST_F(CredentialOfFile, IsAnErrorWhereOnlySkopeoCanTell) {
  const std::string helper = R"({"credHelpers":{"r.example":"pass"}})";
  EXPECT_FALSE(credential(helper, "r.example/app"));
  EXPECT_TRUE(credential(helper, "other.example/app"));
  EXPECT_FALSE(credential(R"({"auths":{"r.example":{"auth":"YTpi","identitytoken":"t"}}})", "r.example/app"));
  EXPECT_FALSE(credential("no JSON", "r.example/app"));
  EXPECT_FALSE(credential_of_file("/nonexistent/auth.json", parse_image_reference("r.example/app").value()));
}

}  // namespace
}  // namespace berth
