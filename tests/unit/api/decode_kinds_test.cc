// Services, disruption budgets and the CSI kinds; and what decoding accepts when rules are off.
#include <gtest/gtest.h>

#include "core/api/decode.h"
#include "core/api/kind.h"
#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/validation.h"
#include "core/api/volume.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

using Op = Requirement::Operator;

template <class T>
using RuledDecoder = Result<T> (*)(const Json&, Warnings*, Rules);

template <class T>
T good_under(RuledDecoder<T> decode, std::string_view text, Rules rules = Rules::enforced) {
  Warnings warnings;
  Result<T> object = decode(parsed_json(text), &warnings, rules);
  EXPECT_TRUE(object) << text << object.error().message();
  EXPECT_EQ(warnings, Warnings{});
  return object ? *object : T{};
}

template <class T>
std::string error_of(RuledDecoder<T> decode, std::string_view text, Rules rules = Rules::enforced) {
  const Result<T> object = decode(parsed_json(text), nullptr, rules);
  EXPECT_FALSE(object) << text;
  return object ? "" : object.error().message();
}

TEST(Kinds, AreFoundByAllTheirNames) {
  for (const KindName& kind : kinds()) {
    EXPECT_EQ(&describe(kind.kind), &kind);
    EXPECT_EQ(find_kind(kind.name), &kind);
    EXPECT_EQ(find_kind(kind.plural), &kind);
    EXPECT_EQ(find_kind(kind.short_name), kind.short_name.empty() ? nullptr : &kind);
    EXPECT_FALSE(kind.api_version.empty());
  }
  EXPECT_EQ(find_kind("pdb")->name, "PodDisruptionBudget");
  EXPECT_EQ(find_kind("csistoragecapacity")->kind, Kind::csi_storage_capacity);
  EXPECT_EQ(find_kind("svc")->kind, Kind::service);
  EXPECT_EQ(find_kind(""), nullptr);
}

TEST(DecodeService, ReadsTheSelectorAndWarnsThatNoAddressLeadsToItsPods) {
  Warnings warnings;
  const auto service = decode_service(
      parsed_json(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"selector":{"app":"web"},
        "ports":[{"port":80}],"type":"ClusterIP"},"status":{"loadBalancer":{}}})"),
      &warnings, Rules::enforced);
  ASSERT_TRUE(service);
  EXPECT_EQ(service->metadata.key(), "default/s");
  EXPECT_EQ(service->selector, (Labels{{"app", "web"}}));
  EXPECT_EQ(warnings,
            Warnings{"spec: there is no Service networking: no address and no name leads to the pods; they are "
                     "spread over nodes by it"});
  EXPECT_TRUE(decode_service(parsed_json(R"({"metadata":{"name":"s"}})"), nullptr)->selector.empty());
}

TEST(DecodeBudget, ReadsBoundsSelectorAndStatus) {
  const PodDisruptionBudget budget =
      good_under(decode_pod_disruption_budget, R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget",
        "metadata":{"name":"b","namespace":"shop"},"spec":{"minAvailable":"50%","unhealthyPodEvictionPolicy":"AlwaysAllow",
        "selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":2,"currentHealthy":3,
        "disruptedPods":{"a":"2025-05-20T00:00:00Z","b":"2025-05-20T00:00:00Z"}}})");
  EXPECT_EQ(budget.metadata.key(), "shop/b");
  EXPECT_EQ(budget.min_available, (IntOrPercent{50, true}));
  EXPECT_EQ(budget.max_unavailable, std::nullopt);
  EXPECT_EQ(budget.selector, (LabelSelector{{{"app", Op::in, {"web"}}}}));
  EXPECT_TRUE(budget.has_status);
  EXPECT_EQ(budget.disruptions_allowed, 2);
  EXPECT_EQ(budget.disrupted_pods, (std::vector<std::string>{"a", "b"}));

  const PodDisruptionBudget bare = good_under(decode_pod_disruption_budget,
                                              R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1,"selector":{}}})");
  EXPECT_EQ(bare.max_unavailable, (IntOrPercent{1, false}));
  EXPECT_EQ(bare.selector, LabelSelector{});
  EXPECT_FALSE(bare.has_status);
  EXPECT_EQ(good_under(decode_pod_disruption_budget, R"({"metadata":{"name":"b"}})").selector, std::nullopt);
}

TEST(DecodeBudget, NamesTheFieldOfEachError) {
  const std::pair<std::string, std::string> cases[] = {
      {R"("minAvailable":-1)", "spec.minAvailable: expected an integer from 0"},
      {R"("minAvailable":1.5)", "spec.minAvailable: expected an integer from 0"},
      {R"("minAvailable":"5")", "spec.minAvailable: expected an integer of at least 0, or a percentage"},
      {R"("maxUnavailable":"x%")", "spec.maxUnavailable: expected an integer of at least 0, or a percentage"},
      {R"("maxUnavailable":"-5%")", "spec.maxUnavailable: expected an integer of at least 0, or a percentage"},
      {R"("maxUnavailable":"101%")", "spec.maxUnavailable: must be at most 100%, got \"101%\""},
      {R"("minAvailable":1,"maxUnavailable":1)",
       "spec.maxUnavailable: cannot be combined with minAvailable; keep one of them"},
  };
  for (const auto& [spec, error] : cases) {
    const std::string text = R"({"metadata":{"name":"b"},"spec":{)" + spec + "}}";
    EXPECT_EQ(error_of(decode_pod_disruption_budget, text).substr(0, error.size()), error);
  }
}

TEST(DecodeCsiNode, ReadsDriversAndTheirLimits) {
  const CsiNode node = good_under(decode_csi_node, R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode",
    "metadata":{"name":"n1","annotations":{"storage.alpha.kubernetes.io/migrated-plugins":"kubernetes.io/gce-pd"}},
    "spec":{"drivers":[{"name":"a","nodeID":"x","topologyKeys":null,"allocatable":{"count":3}},
                       {"name":"b","nodeID":"x","allocatable":{}}]}})");
  ASSERT_EQ(node.drivers.size(), 2u);
  EXPECT_EQ(node.drivers[0].name, "a");
  EXPECT_EQ(node.drivers[0].attach_limit, 3);
  EXPECT_EQ(node.drivers[1].attach_limit, std::nullopt);
  EXPECT_TRUE(good_under(decode_csi_node, R"({"metadata":{"name":"n"},"spec":{"drivers":null}})").drivers.empty());
  EXPECT_EQ(
      error_of(decode_csi_node,
               R"({"metadata":{"name":"n"},"spec":{"drivers":[{"name":"a"},{"name":"a","allocatable":{"count":1}}]}})"),
      "spec.drivers[1].name: another driver of the node has this name; keep one");
}

TEST(DecodeCsiDriver, ReadsWhetherItPublishesCapacity) {
  EXPECT_TRUE(
      good_under(decode_csi_driver, R"({"metadata":{"name":"d"},"spec":{"storageCapacity":true}})").storage_capacity);
  EXPECT_FALSE(
      good_under(decode_csi_driver, R"({"metadata":{"name":"d"},"spec":{"attachRequired":false}})").storage_capacity);
}

TEST(DecodeCsiStorageCapacity, ReadsCapacityAndTopology) {
  const CsiStorageCapacity capacity =
      good_under(decode_csi_storage_capacity, R"({"metadata":{"name":"c","namespace":"k"},
    "storageClassName":"fast","capacity":"10Gi","maximumVolumeSize":"1Gi","nodeTopology":{"matchLabels":{"zone":"a"}}})");
  EXPECT_EQ(capacity.metadata.key(), "k/c");
  EXPECT_EQ(capacity.storage_class_name, "fast");
  EXPECT_EQ(capacity.capacity, Quantity(std::int64_t{10} << 30));
  EXPECT_EQ(capacity.maximum_volume_size, Quantity(std::int64_t{1} << 30));
  EXPECT_EQ(capacity.node_topology, (LabelSelector{{{"zone", Op::in, {"a"}}}}));
  const CsiStorageCapacity bare =
      good_under(decode_csi_storage_capacity, R"({"metadata":{"name":"c"},"storageClassName":"fast"})");
  EXPECT_EQ(bare.capacity, std::nullopt);
  EXPECT_EQ(bare.node_topology, std::nullopt);
  EXPECT_EQ(error_of(decode_csi_storage_capacity, R"({"metadata":{"name":"c"}})").substr(0, 26),
            "storageClassName: missing;");
}

TEST(DecodeMetadata, ReadsDeletionAndTheController) {
  const Namespace space =
      good_under(decode_namespace, R"({"metadata":{"name":"n","deletionTimestamp":"2025-05-20T00:00:00Z",
    "ownerReferences":[{"uid":"u1","kind":"A"},{"uid":"u2","controller":true}]}})");
  EXPECT_TRUE(space.metadata.deleting);
  EXPECT_EQ(space.metadata.controller_uid, "u2");
  EXPECT_FALSE(good_under(decode_namespace, R"({"metadata":{"name":"n","deletionTimestamp":null}})").metadata.deleting);
}

TEST(DecodeNode, ReadsVolumePoolsAndNamesTheirFaults) {
  const auto decoded = [](const std::string& pools) {
    return decode_node(parsed_json(R"({"metadata":{"name":"n"},"status":{"volumePools":)" + pools + "}}"), nullptr);
  };
  const Result<Node> node = decoded(R"([{"class":"fast","root":"/pool","capacity":"1Gi"},
                                           {"class":"slow","root":"/slow","capacity":"1Gi","limited":true}])");
  ASSERT_TRUE(node) << node.error().message();
  EXPECT_EQ(node->volume_pools.get(), (std::vector<VolumePool>{{"fast", "/pool", *Quantity::parse("1Gi")},
                                                               {"slow", "/slow", *Quantity::parse("1Gi"), true}}));
  const auto fault = [&](const std::string& pools) { return decoded(pools).error().message(); };
  EXPECT_NE(fault(R"([{"class":"fast","root":"/pool/../x","capacity":"1Gi"}])").find("status.volumePools[0].root: "),
            std::string::npos);
  EXPECT_NE(fault(R"([{"class":"fast","root":"/pool"}])").find("status.volumePools[0].capacity: "), std::string::npos);
  EXPECT_NE(fault(R"([{"class":"a","root":"/a","capacity":"1"},{"class":"a","root":"/b","capacity":"1"}])")
                .find("status.volumePools[1].class: duplicate pool of class a"),
            std::string::npos);
  std::string many = R"([{"class":"c0","root":"/p","capacity":"1"})";
  for (int i = 1; i < 33; ++i) many += R"(,{"class":"c)" + std::to_string(i) + R"(","root":"/p","capacity":"1"})";
  EXPECT_EQ(fault(many + "]"), "status.volumePools: expected at most 32 pools, got 33");
}

TEST(DecodeNode, ReadsConditions) {
  const Node node = good_under(decode_node, R"({"metadata":{"name":"n"},"status":{"conditions":[
    {"type":"Ready","status":"True","lastHeartbeatTime":null,"reason":"x"},{"type":"DiskPressure","status":"Unknown"}]}})");
  EXPECT_EQ(node.conditions, (std::map<std::string, std::string>{{"DiskPressure", "Unknown"}, {"Ready", "True"}}));
}

TEST(DecodeStorageClass, ReadsAllowedTopologies) {
  const StorageClass storage_class = good_under(decode_storage_class, R"({"metadata":{"name":"s"},"provisioner":"p",
    "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]},{"key":"rack","values":["1"]}]},{}]})");
  ASSERT_EQ(storage_class.allowed_topologies.size(), 2u);
  EXPECT_EQ(storage_class.allowed_topologies[0].requirements,
            (std::vector<Requirement>{{"zone", Op::in, {"a", "b"}}, {"rack", Op::in, {"1"}}}));
  EXPECT_EQ(error_of(decode_storage_class, R"({"metadata":{"name":"s"},"provisioner":"p","allowedTopologies":
    [{"matchLabelExpressions":[{"key":"zone"}]}]})"),
            "allowedTopologies[0].matchLabelExpressions[0].values: expected at least one value");
}

TEST(DecodeVolume, ReadsItsCsiSource) {
  const PersistentVolume volume = good_under(decode_persistent_volume, R"({"metadata":{"name":"v"},"spec":{
    "capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h","readOnly":true}}})");
  EXPECT_EQ(volume.csi_driver, "d");
  EXPECT_EQ(volume.csi_volume_handle, "h");
  EXPECT_EQ(volume.disk.type, DiskSource::Type::csi);
  EXPECT_TRUE(volume.disk.read_only);
  EXPECT_EQ(error_of(decode_persistent_volume, R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},
    "accessModes":["ReadWriteOnce"],"csi":{"driver":"d"}}})"),
            "spec.csi.volumeHandle: missing; expected a string");
}

TEST(DecodeVolume, ReadsInTreeDisks) {
  const PersistentVolume volume = good_under(decode_persistent_volume, R"({"metadata":{"name":"v"},"spec":{
    "capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"awsElasticBlockStore":{"volumeID":"vol-1"}}})");
  EXPECT_EQ(volume.disk.type, DiskSource::Type::aws_elastic_block_store);
  EXPECT_EQ(volume.disk.id, "vol-1");
}

TEST(DecodeRules, WhenOffAcceptAnythingDecodable) {
  const PersistentVolume volume = good_under(decode_persistent_volume, R"({"metadata":{"name":"v"}})", Rules::off);
  EXPECT_TRUE(volume.access_modes.empty());
  good_under(decode_persistent_volume_claim, R"({"metadata":{"name":"c"},"spec":{"volumeName":"v"}})", Rules::off);
  const Pod pod = good_under(decode_pod,
                             R"({"metadata":{"name":"p","labels":{"bad key":"v"}},"spec":{"affinity":{"podAffinity":{
    "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":500,"podAffinityTerm":{}}]}},
    "tolerations":[{"tolerationSeconds":5}],"topologySpreadConstraints":[{"maxSkew":-1}]}})",
                             Rules::off);
  EXPECT_EQ(pod.metadata.labels.at("bad key"), "v");
  EXPECT_EQ(pod.affinity->pod_affinity.preferred.at(0).weight, 500);
  EXPECT_EQ(pod.spec->topology_spread_constraints.at(0).max_skew, -1);
}

TEST(DecodeRules, WhenOffStillRefuseWrongTypesAndNames) {
  EXPECT_EQ(error_of(decode_pod, R"({"metadata":{"name":"P!"},"spec":{}})", Rules::off).substr(0, 13), "metadata.name");
  EXPECT_EQ(error_of(decode_pod, R"({"spec":{}})", Rules::off), "metadata: missing; expected an object with a name");
  EXPECT_EQ(error_of(decode_pod, R"({"metadata":{},"spec":{}})", Rules::off).substr(0, 13), "metadata.name");
  EXPECT_EQ(error_of(decode_pod, R"({"metadata":{"name":"p"},"spec":{"priority":"1"}})", Rules::off).substr(0, 13),
            "spec.priority");
  EXPECT_EQ(
      error_of(decode_pod, R"({"metadata":{"name":"p"},"spec":{"priority":3000000000}})", Rules::off).substr(0, 13),
      "spec.priority");
}

TEST(DecodeRules, WhenStrictRefuseUnknownFieldsAndNoKnownOnes) {
  const auto decoded = [](const std::string& more, Rules rules) {
    return decode_pod(*Json::parse(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],
      "workloadRef":{"name":"w"})" +
                                   more + "}}"),
                      nullptr, rules);
  };
  const std::string misspelt = R"(,"restartPolcy":"Never")";
  EXPECT_TRUE(decoded("", Rules::strict));
  EXPECT_EQ(decoded(misspelt, Rules::strict).error().message(),
            "spec.restartPolcy: unknown field; did you mean restartPolicy?");
  EXPECT_TRUE(decoded(misspelt, Rules::off)->spec->has_unknown_fields);
  EXPECT_FALSE(decoded("", Rules::off)->spec->has_unknown_fields);
}

TEST(DecodeRules, TellUnknownFieldsOfEveryKind) {
  const Json json =
      *Json::parse(R"({"metadata":{"name":"s"},"provisioner":"p","reclaimPolcy":"Retain","parameters":{"x":"y"}})");
  EXPECT_EQ(unknown_fields(Kind::storage_class, json), "reclaimPolcy: unknown field; did you mean reclaimPolicy?");
}

}  // namespace
}  // namespace berth
