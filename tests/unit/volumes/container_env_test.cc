// The environment of containers.
#include "firmware-host/agent/volumes/container_env.h"

#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

class ContainerEnvTest : public testing::Test {
 protected:
  void SetUp() override {
    objects_.set(PodObjectKind::config_map, "app", {{"COLOR", "red"}, {"log.level", "debug"}});
    objects_.set(PodObjectKind::secret, "keys", {{"TOKEN", "s3cret"}, {"COLOR", "blue"}});
  }
  // "A=1 B=2" or the error; a leading '?' if it is pending.
  std::string env(const std::string& members) {
    const Json pod = pod_with("", R"j({"name":"main","resources":{"limits":{"cpu":"1500m"}},)j" + members + "}");
    const Result<ContainerEnv> made =
        container_env(facts_of(pod), objects_, first_container(pod), "spec.containers[0]");
    if (!made) return (made.error().code() == Code::pending ? "?" : "") + made.error().message();
    events_ = made->events;
    std::string text;
    for (const auto& [name, value] : made->variables) text += (text.empty() ? "" : " ") + name + "=" + value;
    return text;
  }
  ObjectsInMemory objects_;
  std::vector<std::string> events_;
};

TEST_F(ContainerEnvTest, ExpandsWhatIsDefinedBefore) {
  EXPECT_EQ(env(R"j("env":[{"name":"A","value":"1"},{"name":"B","value":"$(A)$(C)$$(A)"},{"name":"C","value":"3"}])j"),
            "A=1 B=1$(C)$(A) C=3");
  EXPECT_EQ(env(R"j("env":[{"name":"A","value":"1"},{"name":"A","value":"$(A)2"}])j"), "A=12");
  EXPECT_EQ(env(R"j("env":[{"name":"A"},{"name":"B","value":"[$(A)]"}])j"), "A= B=[]");
}

TEST_F(ContainerEnvTest, TakesFieldsAndResources) {
  EXPECT_EQ(env(R"j("env":[{"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
                          {"name":"N","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}},
                          {"name":"URL","value":"http://$(IP)"}])j"),
            "IP=10.1.2.3 N=1500 URL=http://10.1.2.3");
}

TEST_F(ContainerEnvTest, TakesAllOfAnObjectAndEnvGoesBefore) {
  EXPECT_EQ(env(R"j("envFrom":[{"configMapRef":{"name":"app"}},{"secretRef":{"name":"keys"}}])j"),
            "COLOR=blue TOKEN=s3cret log.level=debug");
  EXPECT_EQ(env(R"j("envFrom":[{"prefix":"P_","configMapRef":{"name":"app"}}],
                   "env":[{"name":"P_COLOR","value":"not $(P_COLOR)"}])j"),
            "P_COLOR=not red P_log.level=debug");
  EXPECT_TRUE(events_.empty());
}

TEST_F(ContainerEnvTest, SkipsKeysThatNoVariableCanHaveAndSaysSo) {
  objects_.set(PodObjectKind::config_map, "odd", {{"a=b", "1"}, {"tab\t", "2"}, {"1-ok", "3"}});
  EXPECT_EQ(env(R"j("envFrom":[{"configMapRef":{"name":"odd"}}])j"), "1-ok=3");
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0],
            "Keys [a=b, tab\t] from the EnvFrom configMap shop/odd were skipped since they are considered invalid "
            "environment variable names.");
}

TEST_F(ContainerEnvTest, TakesKeysOfObjects) {
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"app","key":"COLOR"}}},
                          {"name":"B","valueFrom":{"secretKeyRef":{"name":"keys","key":"TOKEN"}}}])j"),
            "A=red B=s3cret");
}

TEST_F(ContainerEnvTest, WaitsForWhatIsMissingUnlessItIsOptional) {
  EXPECT_EQ(env(R"j("envFrom":[{"configMapRef":{"name":"none"}}])j"), "?configmap \"none\" not found");
  EXPECT_EQ(env(R"j("envFrom":[{"secretRef":{"name":"none"}}])j"), "?secret \"none\" not found");
  EXPECT_EQ(env(R"j("envFrom":[{"secretRef":{"name":"none","optional":true}}])j"), "");
  EXPECT_EQ(env(R"j("envFrom":[{"secretRef":{"name":"on-its-way","optional":true}}])j"),
            "?secret \"on-its-way\" not found");
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"app","key":"none"}}}])j"),
            "?couldn't find key none in ConfigMap shop/app");
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"keys","key":"none"}}}])j"),
            "?couldn't find key none in Secret shop/keys");
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"keys","key":"none","optional":true}}}])j"),
            "");
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"none","key":"k","optional":true}}}])j"),
            "");
}

TEST_F(ContainerEnvTest, IsRefusedWithTheFieldThatIsWrong) {
  const std::string at = "spec.containers[0].env[0]";
  EXPECT_EQ(env(R"j("env":[{"name":"a=b","value":"1"}])j"),
            at + ".name: must be printable ASCII characters without '='");
  EXPECT_EQ(env(R"j("env":[{"name":"A","value":1}])j"), at + ".value: must be a string: put it in quotes");
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"fileKeyRef":{}}}])j"),
            at + ".valueFrom: must have one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef");
  EXPECT_EQ(env(R"j("env":[{"name":"A","value":"1","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}])j"),
            at + ".valueFrom: must not be there besides value");
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.phase"}}}])j")
                .find(at + ".valueFrom.fieldRef.fieldPath: unsupported fieldPath: status.phase"),
            0u);
  EXPECT_EQ(env(R"j("env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"keys"}}}])j"),
            at + ".valueFrom.secretKeyRef.key: must name a key of it");
  EXPECT_EQ(env(R"j("envFrom":[{"configMapRef":{}}])j"),
            "spec.containers[0].envFrom[0].configMapRef.name: must name an object");
  EXPECT_EQ(env(R"j("envFrom":[{}])j"), "spec.containers[0].envFrom[0]: must have one of configMapRef and secretRef");
}

TEST_F(ContainerEnvTest, IsBounded) {
  std::string doubling = R"j("env":[{"name":"A0","value":"xxxxxxxxxxxxxxxx"})j";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "$(A" + std::to_string(i - 1) + ")";
    doubling += R"j(,{"name":"A)j" + std::to_string(i) + R"j(","value":")j" + before + before + "\"}";
  }
  EXPECT_EQ(
      env(doubling + "]"),
      "spec.containers[0].env[13]: name and value must have less than 131072 bytes: mount it as a file of a volume");
  std::map<std::string, std::string> many;
  for (std::size_t i = 0; i <= kMostVariables; ++i) many["K" + std::to_string(i)] = "";
  objects_.set(PodObjectKind::config_map, "many", many);
  EXPECT_NE(env(R"j("envFrom":[{"configMapRef":{"name":"many"}}])j").find("more than 8192 variables"),
            std::string::npos);
  objects_.set(PodObjectKind::secret, "nul", {{"K", std::string("a\0b", 3)}});
  EXPECT_EQ(env(R"j("envFrom":[{"secretRef":{"name":"nul"}}])j"),
            "spec.containers[0].envFrom[0].secretRef key K: the value has a NUL, which no variable can: mount it as a "
            "file of a volume");
}

TEST(ContainerCommandTest, IsExpanded) {
  const Json container =
      Json::parse(R"j({"command":["run","$(A)"],"args":["--x=$(A)$(B)","$$(A)"]})j").value_or(Json());
  const Result<ContainerCommand> command = container_command(container, {{"A", "1"}}, "spec.containers[0]");
  ASSERT_TRUE(command);
  EXPECT_EQ(command->command, (std::vector<std::string>{"run", "1"}));
  EXPECT_EQ(command->args, (std::vector<std::string>{"--x=1$(B)", "$(A)"}));
  const Json wrong = Json::parse(R"j({"args":[1]})j").value_or(Json());
  EXPECT_EQ(container_command(wrong, {}, "spec.containers[0]").error().message(),
            "spec.containers[0].args: must be a list of strings");
}

}  // namespace
}  // namespace berth
