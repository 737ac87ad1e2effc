// Volumes of ConfigMaps, Secrets and the downward API.
#include "firmware-host/agent/volumes/projected_volume.h"

#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

class ProjectedVolume : public testing::Test {
 protected:
  void SetUp() override {
    objects_.set(PodObjectKind::config_map, "app", {{"a.conf", "A"}, {"b.conf", "B"}});
    objects_.set(PodObjectKind::secret, "tls", {{"key", std::string("\0k", 2)}});
  }
  // "path=bytes mode ..." or the error; a leading '?' if it is pending.
  std::string shown(const std::string& volume) const {
    const Json pod = pod_with(volume, R"({"name":"main","resources":{"limits":{"cpu":2}}})");
    const PodFacts facts = facts_of(pod);
    const Json& json = pod.find("spec")->find("volumes")->as_array().front();
    const Result<Projection> projection = read_projection(facts, json, "spec.volumes[0]");
    if (!projection) return projection.error().message();
    const Result<Payload> payload = project(facts, objects_, *projection);
    if (!payload) return (payload.error().code() == Code::pending ? "?" : "") + payload.error().message();
    std::string text;
    for (const auto& [path, file] : *payload) {
      std::array<char, 8> mode{};
      std::snprintf(mode.data(), mode.size(), "%o", file.mode);
      text += (text.empty() ? "" : " ") + path + "=" + file.bytes + ":" + mode.data();
    }
    return text;
  }
  ObjectsInMemory objects_;
};

TEST_F(ProjectedVolume, OfAConfigMapHasAllItsKeysOrThoseOfItems) {
  EXPECT_EQ(shown(R"({"configMap":{"name":"app"}})"), "a.conf=A:644 b.conf=B:644");
  EXPECT_EQ(shown(R"({"configMap":{"name":"app","defaultMode":416,
                      "items":[{"key":"b.conf","path":"etc/b"},{"key":"a.conf","path":"a","mode":256}]}})"),
            "a=A:400 etc/b=B:640");
}

TEST_F(ProjectedVolume, OfASecretHasItsBytes) {
  EXPECT_EQ(shown(R"({"secret":{"secretName":"tls","defaultMode":256}})"), std::string("key=\0k:400", 10));
}

TEST_F(ProjectedVolume, OfSeveralSourcesTheLaterOneGoesFirst) {
  objects_.set(PodObjectKind::config_map, "more", {{"b.conf", "other"}});
  EXPECT_EQ(shown(R"({"projected":{"defaultMode":292,"sources":[
                      {"configMap":{"name":"app"}},{"configMap":{"name":"more"}},
                      {"secret":{"name":"tls","items":[{"key":"key","path":"k"}]}},
                      {"downwardAPI":{"items":[{"path":"name","fieldRef":{"fieldPath":"metadata.name"}}]}}]}})"),
            std::string("a.conf=A:444 b.conf=other:444 k=\0k:444 name=web-0:444", 53));
}

TEST_F(ProjectedVolume, OfTheDownwardApiHasSortedLines) {
  EXPECT_EQ(shown(R"({"downwardAPI":{"items":[
                      {"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}},
                      {"path":"note","fieldRef":{"fieldPath":"metadata.annotations['note']"},"mode":256},
                      {"path":"cpu","resourceFieldRef":{"containerName":"main","resource":"limits.cpu"}}]}})"),
            "cpu=2:644 labels=app=\"web\"\ntier=\"a\\\"b\":644 note=lines\ntwo:400");
}

TEST_F(ProjectedVolume, WaitsForWhatIsMissingUnlessItIsOptional) {
  EXPECT_EQ(shown(R"({"configMap":{"name":"none"}})"), "?configmap \"none\" not found");
  EXPECT_EQ(shown(R"({"secret":{"secretName":"none"}})"), "?secret \"none\" not found");
  EXPECT_EQ(shown(R"({"configMap":{"name":"none","optional":true}})"), "");
  EXPECT_EQ(shown(R"({"configMap":{"name":"on-its-way","optional":true}})"), "?configmap \"on-its-way\" not found");
  EXPECT_EQ(shown(R"({"configMap":{"name":"app","items":[{"key":"c","path":"c"}]}})"),
            "?configmap references non-existent config key: c");
  EXPECT_EQ(shown(R"({"secret":{"secretName":"tls","items":[{"key":"c","path":"c"}]}})"),
            "?references non-existent secret key: c");
  EXPECT_EQ(shown(R"({"configMap":{"name":"app","optional":true,
                      "items":[{"key":"c","path":"c"},{"key":"a.conf","path":"a"}]}})"),
            "a=A:644");
}

TEST_F(ProjectedVolume, IsRefusedWithTheFieldThatIsWrong) {
  const std::string at = "spec.volumes[0].";
  for (const char* source : {"serviceAccountToken", "clusterTrustBundle", "podCertificate"}) {
    EXPECT_EQ(shown(std::string(R"({"projected":{"sources":[{")") + source + R"(":{"path":"token"}}]}})"),
              at + "projected.sources[0]." + source +
                  ": not supported by node edge-a, as there is no API server to issue it; use configMap, secret or "
                  "downwardAPI");
  }
  EXPECT_EQ(shown(R"({"projected":{"sources":[{}]}})"),
            at + "projected.sources[0]: must have one of configMap, secret and downwardAPI");
  EXPECT_EQ(shown(R"({"configMap":{}})"), at + "configMap.name: must name an object");
  EXPECT_EQ(shown(R"({"secret":{"secretName":"tls","defaultMode":512}})"),
            at + "secret.defaultMode: must be a number between 0 and 511 (0777 octal), got 512");
  EXPECT_EQ(shown(R"({"configMap":{"name":"app","items":[{"key":"a.conf","path":"../x"}]}})"),
            at + "configMap.items[0].path: path '../x' must not start with '..'");
  EXPECT_EQ(shown(R"({"configMap":{"name":"app","items":[{"path":"x"}]}})"),
            at + "configMap.items[0].key: must name a key of the object");
  EXPECT_EQ(shown(R"({"downwardAPI":{"items":[{"path":"x"}]}})"),
            at + "downwardAPI.items[0]: must have one of fieldRef and resourceFieldRef");
  EXPECT_EQ(shown(R"({"downwardAPI":{"items":[{"path":"x","fieldRef":{"fieldPath":"status.podIP"}}]}})")
                .find(at + "downwardAPI.items[0].fieldRef.fieldPath: unsupported fieldPath: status.podIP"),
            0u);
  EXPECT_EQ(shown(R"({"downwardAPI":{"items":[{"path":"x","resourceFieldRef":{"resource":"limits.cpu"}}]}})"),
            at + "downwardAPI.items[0].resourceFieldRef.containerName: must name a container of the pod");
}

TEST_F(ProjectedVolume, IsBoundedHoweverOftenItAsksForALargeKey) {
  objects_.set(PodObjectKind::config_map, "large", {{"key", std::string(1 << 20, 'x')}});
  std::string items;
  for (int i = 0; i < 500; ++i) {
    items += std::string(i == 0 ? "" : ",") + R"({"key":"key","path":")" + std::to_string(i) + "\"}";
  }
  EXPECT_EQ(shown(R"({"configMap":{"name":"large","items":[)" + items + "]}}"),
            "must have at most 4096 files and 4194304 bytes in all: leave some out by items");
}

TEST_F(ProjectedVolume, OfAnObjectWithKeysThatClimbIsRefused) {
  objects_.set(PodObjectKind::config_map, "bad", {{"../x", "1"}});
  EXPECT_EQ(shown(R"({"configMap":{"name":"bad"}})"), "path '../x' must not start with '..'");
}

}  // namespace
}  // namespace berth
