// What a pod may learn of itself.
#include "firmware-host/agent/volumes/pod_fields.h"

#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

Json json_of(const std::string& text) { return Json::parse(text).value_or(Json()); }

TEST(PodFields, OfThePodAndItsNode) {
  const Json pod = pod_with("");
  const PodFacts facts = facts_of(pod);
  EXPECT_EQ(field_value(facts, "metadata.name"), "web-0");
  EXPECT_EQ(field_value(facts, "metadata.namespace"), "shop");
  EXPECT_EQ(field_value(facts, "metadata.uid"), "uid-1");
  EXPECT_EQ(field_value(facts, "metadata.labels['app']"), "web");
  EXPECT_EQ(field_value(facts, "metadata.labels['none']"), "");
  EXPECT_EQ(field_value(facts, "metadata.annotations['note']"), "two\nlines");
  EXPECT_EQ(field_value(facts, "metadata.labels"), "app=\"web\"\ntier=\"a\\\"b\"");
  EXPECT_EQ(field_value(facts, "metadata.annotations"), "note=\"two\\nlines\"");
  EXPECT_EQ(field_value(facts, "spec.nodeName"), "edge-a");
  EXPECT_EQ(field_value(facts, "spec.serviceAccountName"), "default");
  EXPECT_EQ(field_value(facts, "status.podIP"), "10.1.2.3");
  EXPECT_EQ(field_value(facts, "status.podIPs"), "10.1.2.3,fd00::3");
  EXPECT_EQ(field_value(facts, "status.hostIP"), "192.168.0.7");
  EXPECT_EQ(field_value(facts, "status.hostIPs"), "192.168.0.7");
}

TEST(PodFields, EachPlaceHasItsOwn) {
  const auto check = [](const std::string& field, FieldPlace place) {
    return check_field_ref(Json::object().set("fieldPath", field), place, "x.fieldRef").message();
  };
  for (const char* both : {"metadata.name", "metadata.uid", "metadata.labels['a']", "metadata.annotations['a/b']"}) {
    EXPECT_EQ(check(both, FieldPlace::environment), "") << both;
    EXPECT_EQ(check(both, FieldPlace::volume), "") << both;
  }
  EXPECT_EQ(check("metadata.labels", FieldPlace::volume), "");
  EXPECT_EQ(check("status.podIPs", FieldPlace::environment), "");
  EXPECT_EQ(check("metadata.labels", FieldPlace::environment)
                .find("x.fieldRef.fieldPath: unsupported fieldPath: metadata.labels; must be metadata.name"),
            0u);
  EXPECT_EQ(check("status.podIP", FieldPlace::volume).find("x.fieldRef.fieldPath: unsupported fieldPath: status.podIP"),
            0u);
  EXPECT_NE(check("spec.nodeName", FieldPlace::volume), "");
  EXPECT_NE(check("", FieldPlace::volume), "");
}

class PodResources : public testing::Test {
 protected:
  std::string value(const std::string& ref) const {
    const Result<std::string> value = resource_value(facts_of(pod_), json_of(ref), &first_container(pod_), "ref");
    return value ? *value : value.error().message();
  }
  Json pod_ =
      pod_with("", R"({"name":"main","resources":{"limits":{"cpu":"1500m","memory":"100Mi","hugepages-2Mi":"4Mi"},
                                                         "requests":{"cpu":0.25}}},
                              {"name":"free"})");
};

TEST_F(PodResources, AreRoundedUpToTheDivisor) {
  EXPECT_EQ(value(R"({"resource":"limits.cpu"})"), "2");
  EXPECT_EQ(value(R"({"resource":"limits.cpu","divisor":"1m"})"), "1500");
  EXPECT_EQ(value(R"({"resource":"limits.cpu","divisor":"0"})"), "2");
  EXPECT_EQ(value(R"({"resource":"requests.cpu","divisor":"1m"})"), "250");
  EXPECT_EQ(value(R"({"resource":"limits.memory"})"), "104857600");
  EXPECT_EQ(value(R"({"resource":"limits.memory","divisor":"1Mi"})"), "100");
  EXPECT_EQ(value(R"({"resource":"limits.memory","divisor":"1Gi"})"), "1");
  EXPECT_EQ(value(R"({"resource":"limits.hugepages-2Mi","divisor":"1Mi"})"), "4");
}

TEST_F(PodResources, ThatAreNotSetAreThoseOfTheNodeOrTheLimit) {
  EXPECT_EQ(value(R"({"resource":"requests.memory","divisor":"1Mi"})"), "100") << "a request defaults to its limit";
  EXPECT_EQ(value(R"({"containerName":"free","resource":"limits.cpu"})"), "4");
  EXPECT_EQ(value(R"({"containerName":"free","resource":"limits.memory","divisor":"1Gi"})"), "8");
  EXPECT_EQ(value(R"({"containerName":"free","resource":"limits.ephemeral-storage","divisor":"1Mi"})"), "1024");
  EXPECT_EQ(value(R"({"containerName":"free","resource":"requests.memory"})"), "0");
  EXPECT_EQ(value(R"({"containerName":"free","resource":"limits.hugepages-2Mi"})"), "0");
}

TEST_F(PodResources, ThatAreNotSetAreThoseOfThePodIfItHasLimits) {
  pod_ = pod_with("", R"({"name":"main"})", R"(,"resources":{"limits":{"memory":"1Gi"}})");
  EXPECT_EQ(value(R"({"resource":"limits.memory","divisor":"1Mi"})"), "1024");
  EXPECT_EQ(value(R"({"resource":"limits.cpu"})"), "4");
}

TEST_F(PodResources, ThatCannotBeReadAreErrorsThatNameTheField) {
  EXPECT_EQ(value(R"({"containerName":"none","resource":"limits.cpu"})"),
            "ref.containerName: container none not found");
  EXPECT_EQ(value(R"({"resource":"limits.gpu"})"),
            "ref.resource: unsupported container resource : limits.gpu; must be limits. or requests. with cpu, memory, "
            "ephemeral-storage or hugepages-<size>");
  EXPECT_EQ(value(R"({"resource":"limits.cpu","divisor":"-1"})"), "ref.divisor: must not be negative");
  EXPECT_EQ(value(R"({"resource":"limits.cpu","divisor":"1K"})").find("ref.divisor: expected a quantity"), 0u);
  const PodFacts facts = facts_of(pod_);
  EXPECT_EQ(check_resource_ref(facts, json_of(R"({"resource":"limits.cpu"})"), nullptr, "ref").message(),
            "ref.containerName: must name a container of the pod");
}

}  // namespace
}  // namespace berth
