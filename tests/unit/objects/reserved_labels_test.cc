// Labels that a device cannot give itself.
#include "core/objects/reserved_labels.h"

#include "core/api/packed.h"
#include "core/objects/node_record.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class ReservedLabels : public GatewayTest {
 protected:
  void come(const std::string& name, const std::string& labels) {
    device(name, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
           R"(,"labels":)" + labels + R"(,"volumes":[{"name":"data","path":"/srv/data","capacity":"1Gi"}])");
  }
  const Labels& labels(const std::string& name) {
    return gateway->scheduler().cache().find(name)->node->metadata.labels.get();
  }
  // The message of the condition in what `get node -o json` shows; empty: the node does not have the condition.
  std::string condition(const std::string& name, const std::string& type) {
    const Json reply = api(R"({"op":"get","kind":"node","name":")" + name + R"("})");
    for (const Json& each : reply.find("object")->find("status")->find("conditions")->as_array()) {
      if (*each.find("type") == Json(type)) return each.find("message")->as_string();
    }
    return {};
  }
};

TEST(ReservedLabel, IsTheHostNameOfAnotherNodeOrTheOperators) {
  const struct {
    const char* key;
    const char* value;
    bool ignored;
  } kCases[] = {
      {"kubernetes.io/hostname", "n1", false},
      {"kubernetes.io/hostname", "n2", true},
      {"kubernetes.io/hostname", "", true},
      {"kubernetes.io/arch", "arm64", false},
      {"hostname", "n2", false},
      {"operator.berth/tier", "gold", true},
      {"operator.berth/", "gold", true},
      {"my-operator.berth/tier", "gold", false},
      {"node-restriction.kubernetes.io/secret", "yes", true},
      {"team.node-restriction.kubernetes.io/secret", "yes", true},
      {"no-node-restriction.kubernetes.io/secret", "yes", false},
      {"node-restriction.kubernetes.io", "yes", false},
  };
  for (const auto& each : kCases) {
    EXPECT_EQ(is_ignored_label("n1", each.key, Json(each.value)), each.ignored) << each.key << "=" << each.value;
  }
  EXPECT_TRUE(is_ignored_label("n1", "kubernetes.io/hostname", Json(true)));
}

TEST(ReservedLabel, OfManyTheFirstFewAreNamedAndLongOnesAreCut) {
  Json many = Json::object();
  for (int index = 10; index < 30; ++index) {
    many.set("operator.berth/" + std::to_string(index), std::string(10'000, 'z'));
  }
  const std::string said = ignored_labels("n1", many);
  EXPECT_LT(said.size(), 2000u);
  EXPECT_TRUE(said.starts_with("operator.berth/10=zz")) << said;
  EXPECT_TRUE(said.ends_with(" and 12 more")) << said;
}

TEST_F(ReservedLabels, ADeviceHasTheHostNameOfItsNodeWhateverItSays) {
  start_connected();
  come("n1", R"({"kubernetes.io/hostname":"n2","zone":"a"})");
  EXPECT_EQ(labels("n1").at("kubernetes.io/hostname"), "n1");
  EXPECT_EQ(labels("n1").at("zone"), "a");
  EXPECT_NE(condition("n1", "LabelsIgnored").find("kubernetes.io/hostname=n2"), std::string::npos)
      << condition("n1", "LabelsIgnored");
}

TEST_F(ReservedLabels, APodOfAVolumeIsNotSentToADeviceThatClaimsTheVolumesHost) {
  start_connected();
  come("n1", "{}");
  apply(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},
      "provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default"},
      "spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":{"storage":"1Gi"}}}})");
  const std::string volume = R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])";
  apply(pod("first", "u1", "64Mi", volume));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(phase("u1"), Phase::bound);
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":false})");
  device("n2", "i2", R"({"cpu":"64","memory":"64Gi","pods":"100"})", R"(,"labels":{"kubernetes.io/hostname":"n1"})");
  apply(pod("second", "u2", "64Mi", volume));
  EXPECT_EQ(phase("u2"), Phase::none) << "the data is on n1";
}

TEST_F(ReservedLabels, OfTheOperatorCountFromTheOverlayAlone) {
  start_connected();
  come("n1", R"({"node-restriction.kubernetes.io/secret":"device","a.node-restriction.kubernetes.io/b":"device",
                "operator.berth/tier":"device"})");
  EXPECT_EQ(labels("n1").size(), 1u);
  apply(R"({"kind":"Node","metadata":{"name":"n1","labels":{"node-restriction.kubernetes.io/secret":"operator"}}})");
  EXPECT_EQ(labels("n1").at("node-restriction.kubernetes.io/secret"), "operator");
  EXPECT_EQ(labels("n1").size(), 2u);
}

TEST_F(ReservedLabels, AnHonestDeviceHasNoCondition) {
  start_connected();
  come("n1", R"({"kubernetes.io/hostname":"n1","kubernetes.io/arch":"arm64"})");
  EXPECT_EQ(condition("n1", "LabelsIgnored"), "");
}

TEST_F(ReservedLabels, TheConditionGoesWithTheLabels) {
  start_connected();
  come("n1", R"({"operator.berth/tier":"gold"})");
  ASSERT_NE(condition("n1", "LabelsIgnored"), "");
  come("n1", "{}");
  EXPECT_EQ(condition("n1", "LabelsIgnored"), "");
}

TEST_F(ReservedLabels, ExplainNamesWhatADeviceSaysInVain) {
  start_connected();
  come("n1", R"({"kubernetes.io/hostname":"n2"})");
  come("n3", "{}");
  apply(pod("web", "u1", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"n2"})"));
  const Json reply = api(R"({"op":"explain","namespace":"default","name":"web"})");
  ASSERT_NE(reply.find("notes"), nullptr);
  ASSERT_EQ(reply.find("notes")->as_array().size(), 1u);
  const Json& note = reply.find("notes")->as_array().front();
  EXPECT_EQ(*note.find("node"), Json("n1"));
  EXPECT_NE(note.find("message")->as_string().find("kubernetes.io/hostname=n2"), std::string::npos);
}

TEST_F(ReservedLabels, AnOverlayCannotGiveAnotherHostNameEither) {
  start_connected();
  come("n1", "{}");
  const Json reply =
      apply(R"({"kind":"Node","metadata":{"name":"n1","labels":{"kubernetes.io/hostname":"n2","zone":"b"}}})");
  EXPECT_EQ(*reply.find("ok"), Json(false));
  EXPECT_NE(reply.find("error")->as_string().find("metadata.labels[kubernetes.io/hostname]"), std::string::npos)
      << reply.dump();
  EXPECT_FALSE(labels("n1").contains("zone"));
  EXPECT_EQ(*apply(R"({"kind":"Node","metadata":{"name":"n1","labels":{"kubernetes.io/hostname":"n1"}}})").find("ok"),
            Json(true))
      << "as get shows it";
}

// A store of an earlier program has the node as that made it, with the device's host name.
TEST_F(ReservedLabels, AreNotReadFromTheStoreOfAnEarlierProgram) {
  start_connected();
  come("n1", R"({"kubernetes.io/hostname":"n2"})");
  std::string& record = const_cast<Contents&>(store.durable()).at({Table::node, "n1"}).value;
  Result<NodeRecord> stored = decode_node_record(record);
  ASSERT_TRUE(stored.has_value());
  Node node = *gateway->scheduler().cache().find("n1")->node;
  node.metadata.labels.edit()["kubernetes.io/hostname"] = "n2";
  ByteWriter out;
  pack_node(out, node);
  std::string packed = out.take();
  packed.front() = '\x03';  // the form before the rule
  stored->packed = packed;
  record = encode(*stored);
  restart();
  EXPECT_EQ(labels("n1").at("kubernetes.io/hostname"), "n1");
}

}  // namespace
}  // namespace berth
