// ConfigMaps and Secrets: what is accepted, what may change, and that no message shows a value.
#include <gtest/gtest.h>

#include "core/api/config_objects.h"
#include "core/api/decode.h"
#include "core/base64.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

std::string error_of_map(const std::string& members, Rules rules = Rules::enforced) {
  const auto map = decode_config_map(parsed_json(R"({"metadata":{"name":"x"},)" + members + "}"), nullptr, rules);
  return map ? "" : map.error().message();
}

std::string error_of_secret(const std::string& members) {
  const auto secret = decode_secret(parsed_json(R"({"metadata":{"name":"x"},)" + members + "}"), nullptr);
  return secret ? "" : secret.error().message();
}

TEST(DecodeConfigMap, ReadsWhatKubernetesAccepts) {
  const Json json = parsed_json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"immutable":true,
    "data":{"a.conf":"k = v\n","KEY_1":"","none":null},"binaryData":{"b-in":"AP8="}})");
  Warnings warnings;
  const Result<ConfigMap> map = decode_config_map(json, &warnings);
  ASSERT_TRUE(map) << map.error().message();
  EXPECT_EQ(warnings, Warnings{});
  EXPECT_TRUE(map->immutable);
  EXPECT_EQ(map->metadata.key(), "default/x");
  EXPECT_EQ(values_of(Kind::config_map, map->manifest),
            (std::map<std::string, std::string>{
                {"a.conf", "k = v\n"}, {"KEY_1", ""}, {"none", ""}, {"b-in", std::string("\0\xFF", 2)}}));
}

// As kube-apiserver 1.36 refuses them (recorded: v-cm-bad-key, v-cm-bad-base64, v-cm-dup-binary).
TEST(DecodeConfigMap, NamesTheFieldOfEveryError) {
  EXPECT_EQ(error_of_map(R"("data":{"a b":"1"})"),
            R"(data["a b"]: the key must consist of letters, digits, '-', '_' and '.')");
  EXPECT_EQ(error_of_map(R"("data":{"..":"2"})"), R"(data[".."]: the key must not be '..')");
  EXPECT_EQ(error_of_map(R"("data":{".":"2"})"), R"(data["."]: the key must not be '.')");
  EXPECT_EQ(error_of_map(R"("data":{"..data":"2"})"), R"(data["..data"]: the key must not start with '..')");
  EXPECT_EQ(error_of_map(R"("data":{"":"2"})"),
            R"(data[""]: the key must consist of letters, digits, '-', '_' and '.')");
  EXPECT_NE(error_of_map(R"("data":{")" + std::string(254, 'k') + R"(":"2"})").find("at most 253 bytes"),
            std::string::npos);
  EXPECT_EQ(error_of_map(R"("data":{")" + std::string(253, 'k') + R"(":"2"})"), "");
  EXPECT_EQ(error_of_map(R"("binaryData":{"z":"%%%"})"), "binaryData.z: expected base64, wrong at byte 0");
  EXPECT_EQ(error_of_map(R"("data":{"k":"v"},"binaryData":{"k":"AA=="})"),
            "data.k: the key is in binaryData too; keep one");
  EXPECT_EQ(error_of_map(R"("data":{"port":8080})"), "data.port: expected a string; put the value in quotes");
  EXPECT_EQ(error_of_map(R"("data":["a"])"), "data: expected an object with a value for each key");
  EXPECT_EQ(error_of_map(R"("data":{"a b":"1"})", Rules::off), "");
}

TEST(DecodeConfigMap, HasAtMostAMebibyteOfValues) {
  const auto with = [](std::size_t bytes) {
    Json json = parsed_json(R"({"metadata":{"name":"x"},"data":{}})");
    json.find("data")->set("k", std::string(bytes, 'v'));
    return decode_config_map(json, nullptr);
  };
  EXPECT_TRUE(with(1 << 20));
  const auto larger = with((1 << 20) + 1);
  ASSERT_FALSE(larger);
  EXPECT_NE(larger.error().message().find("must be at most 1 MiB"), std::string::npos);
}

TEST(DecodeSecret, HasTheKeysOfItsType) {
  const auto type = [](const std::string& name, const std::string& strings) {
    return error_of_secret(R"("type":"kubernetes.io/)" + name + R"(","stringData":)" + strings);
  };
  const std::string username = "data.username: missing; a Secret of type kubernetes.io/basic-auth must have it";
  EXPECT_EQ(type("basic-auth", R"({"k":"v"})").substr(0, username.size()), username);
  EXPECT_EQ(type("basic-auth", R"({"password":"p"})"), "");
  EXPECT_NE(type("tls", R"({"tls.crt":"c"})").find(R"(data["tls.key"]: missing)"), std::string::npos);
  EXPECT_EQ(type("tls", R"({"tls.crt":"c","tls.key":"k"})"), "");
  EXPECT_NE(type("ssh-auth", R"({"ssh-privatekey":""})"), "");
  EXPECT_EQ(type("ssh-auth", R"({"ssh-privatekey":"k"})"), "");
  EXPECT_NE(type("dockerconfigjson", R"({".dockerconfigjson":"{"})").find("expected JSON"), std::string::npos);
  EXPECT_EQ(type("dockerconfigjson", R"({".dockerconfigjson":"{\"auths\":{}}"})"), "");
  EXPECT_NE(type("service-account-token", "{}").find("kubernetes.io/service-account.name"), std::string::npos);
  EXPECT_EQ(error_of_secret(R"("type":"example.com/mine","stringData":{"k":"v"})"), "");
}

TEST(DecodeSecret, ShowsNoValueInAnyMessage) {
  for (const std::string members :
       {R"("stringData":{"pin":20477402})", R"("data":{"pin":"hunter2!"})", R"("data":{"pin":20477402})",
        R"("data":{"pin":["hunter2"]})", R"("stringData":"hunter2")", R"("stringData":{"a b":"hunter2"})",
        R"("type":"kubernetes.io/dockercfg","stringData":{".dockercfg":"hunter2"})"}) {
    const std::string error = error_of_secret(members);
    EXPECT_FALSE(error.empty()) << members;
    EXPECT_EQ(error.find("hunter2"), std::string::npos) << error;
    EXPECT_EQ(error.find("20477402"), std::string::npos) << error;
  }
}

TEST(Secret, IsKeptAsTheApiServerKeepsIt) {
  const Json kept = with_merged_string_data(
      parsed_json(R"({"metadata":{"name":"x"},"data":{"a":"AA==","b":"AA=="},"stringData":{"b":"v","c":"w"}})"));
  EXPECT_EQ(kept.find("stringData"), nullptr);
  EXPECT_EQ(kept.string_at("type"), "Opaque");
  EXPECT_EQ(*kept.find("data"), parsed_json(R"({"a":"AA==","b":"dg==","c":"dw=="})"));
  EXPECT_EQ(*with_sizes_only(Kind::secret, kept).find("data"), parsed_json(R"({"a":1,"b":1,"c":1})"));
}

TEST(Secret, ShownWithoutValuesHasNoneInTheAnnotationOfKubectlApplyEither) {
  const Json shown = with_sizes_only(
      Kind::secret,
      parsed_json(R"({"metadata":{"name":"x","annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":
                  "{\"data\":{\"k\":\"aHVudGVyMg==\"}}"}},"data":{"k":"aHVudGVyMg=="}})"));
  EXPECT_EQ(shown.dump().find("aHVudGVyMg"), std::string::npos);
  EXPECT_EQ(*shown.find("metadata")->find("annotations"), parsed_json(R"({"a":"b"})"));
}

TEST(ConfigUpdate, LeavesWhatIsImmutable) {
  const auto update = [](Kind kind, const std::string& before, const std::string& now) {
    return check_config_update(kind, parsed_json(before), parsed_json(now)).message();
  };
  EXPECT_EQ(update(Kind::config_map, R"({"data":{"a":"1"}})", R"({"data":{"a":"2"},"immutable":true})"), "");
  EXPECT_NE(update(Kind::config_map, R"({"data":{"a":"1"},"immutable":true})", R"({"data":{"a":"1"}})")
                .find("immutable: cannot be unset"),
            std::string::npos);
  EXPECT_NE(update(Kind::config_map, R"({"data":{"a":"1"},"immutable":true})", R"({"data":{"a":"2"},"immutable":true})")
                .find("data: cannot change"),
            std::string::npos);
  EXPECT_EQ(update(Kind::config_map, R"({"data":{"a":"1","b":"2"},"immutable":true})",
                   R"({"metadata":{"labels":{"l":"m"}},"data":{"b":"2","a":"1"},"binaryData":{},"immutable":true})"),
            "");
  EXPECT_NE(update(Kind::secret, R"({"type":"Opaque"})", R"({"type":"kubernetes.io/tls"})").find("type: is immutable"),
            std::string::npos);
}

}  // namespace
}  // namespace berth
