#include <gtest/gtest.h>

#include "core/api/decode.h"
#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/policy.h"
#include "core/api/volume.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

using Texts = std::vector<std::string>;

template <class T>
using Decoder = Result<T> (*)(const Json&, Warnings*, Rules);

template <class T>
T good(Decoder<T> decode, std::string_view text, const Texts& want_warnings = {}) {
  Warnings warnings;
  Result<T> object = decode(parsed_json(text), &warnings, Rules::enforced);
  EXPECT_TRUE(object) << text << object.error().message();
  EXPECT_EQ(warnings, want_warnings);
  return object ? *object : T{};
}

template <class T>
void bad(Decoder<T> decode, std::string_view text, std::string_view error) {
  const Result<T> object = decode(parsed_json(text), nullptr, Rules::enforced);
  ASSERT_FALSE(object) << text;
  EXPECT_EQ(object.error().code(), Code::error);
  EXPECT_EQ(object.error().reasons()[0].substr(0, error.size()), error);
}

TEST(DecodeNode, ReadsWhatSchedulingNeeds) {
  const Node node =
      good(decode_node, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"zone":"a"}},
    "spec":{"unschedulable":true,"podCIDR":"10.0.0.0/24","taints":[{"key":"dedicated","value":"gpu","effect":"NoSchedule"},
      {"key":"dedicated","effect":"NoExecute","timeAdded":null}]},
    "status":{"capacity":{"cpu":"8"},"allocatable":{"cpu":"3500m","memory":"1.5Gi","pods":"110","e.com/gpu":2},
      "images":[{"names":["web:1","web@sha256:0"],"sizeBytes":12345},{"names":[],"sizeBytes":"9223372036854775807"}],
      "conditions":[],"nodeInfo":{}}})");
  EXPECT_EQ(node.metadata.key(), "n1");
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.taints, (std::vector<Taint>{{"dedicated", "gpu", TaintEffect::no_schedule},
                                             {"dedicated", "", TaintEffect::no_execute}}));
  EXPECT_EQ(node.allocatable.at("cpu").milli_value(), 3500);
  EXPECT_EQ(node.allocatable.at("memory").value(), 1610612736);
  EXPECT_EQ(node.allocatable.at("e.com/gpu").value(), 2);
  ASSERT_EQ(node.images.size(), 2u);
  EXPECT_EQ(node.images[0].names, (Texts{"web:1", "web@sha256:0"}));
  EXPECT_EQ(node.images[0].size_bytes, 12345);
  EXPECT_EQ(node.images[1].size_bytes, 9223372036854775807);
}

TEST(DecodeNode, FallsBackToCapacity) {
  const Node node = good(decode_node, R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"8","pods":10}}})");
  EXPECT_EQ(node.allocatable.at("cpu").value(), 8);
  EXPECT_EQ(node.allocatable.at("pods").value(), 10);
  EXPECT_TRUE(good(decode_node, R"({"metadata":{"name":"n"}})").allocatable.empty());
}

TEST(DecodeNode, WarnsWhenNoPodCouldFit) {
  good(decode_node, R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"8"}}})",
       {"status.allocatable: resource \"pods\" is missing, so no pod fits; add the number of pods the node can run"});
}

TEST(DecodeNode, NamesTheFieldOfEveryError) {
  const auto bad_spec = [](const std::string& spec, std::string_view error) {
    bad(decode_node, R"({"metadata":{"name":"n"},"spec":{)" + spec + "}}", error);
  };
  bad_spec(R"("unschedulable":"yes")", "spec.unschedulable: expected true or false, got \"yes\"");
  bad_spec(R"("taints":[{"key":"a"}])", "spec.taints[0].effect: missing");
  bad_spec(R"("taints":[{"effect":"NoSchedule"}])", "spec.taints[0].key: missing");
  bad_spec(R"("taints":[{"key":"a","effect":"X"}])", "spec.taints[0].effect: expected one of NoSchedule");
  bad_spec(R"("taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","value":"b","effect":"NoSchedule"}])",
           "spec.taints[1].key: another taint has this key and effect");
  bad(decode_node, R"({"metadata":{"name":"n","namespace":"x"}})", "metadata.namespace: this kind has no namespace");
  bad(decode_node, R"({"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"lots"}}})",
      "status.allocatable.cpu: expected a quantity");
  bad(decode_node, R"({"metadata":{"name":"n"},"status":{"allocatable":{"a b":"1"}}})",
      "status.allocatable[\"a b\"]: expected a resource name");
  bad(decode_node, R"({"metadata":{"name":"n"},"status":{"images":[{"sizeBytes":-1}]}})",
      "status.images[0].sizeBytes: expected an integer from 0");
}

TEST(DecodePersistentVolume, ReadsALocalVolume) {
  const PersistentVolume volume = good(decode_persistent_volume, R"({"apiVersion":"v1","kind":"PersistentVolume",
    "metadata":{"name":"pv1"},"spec":{"capacity":{"storage":"10Gi"},"accessModes":["ReadWriteOnce"],
    "storageClassName":"local","persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block","local":{"path":"/mnt/a"},
    "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In",
      "values":["n1"]}]}]}},
    "claimRef":{"kind":"PersistentVolumeClaim","namespace":"shop","name":"store","uid":"u1"}},"status":{"phase":"Bound"}})");
  EXPECT_EQ(volume.capacity.value(), std::int64_t{10} << 30);
  EXPECT_EQ(volume.access_modes, Texts{"ReadWriteOnce"});
  EXPECT_EQ(volume.storage_class_name, "local");
  EXPECT_EQ(volume.reclaim_policy, "Delete");
  EXPECT_EQ(volume.volume_mode, "Block");
  EXPECT_EQ(volume.local_path, "/mnt/a");
  ASSERT_TRUE(volume.node_affinity);
  EXPECT_TRUE(matches(*volume.node_affinity, {{"kubernetes.io/hostname", "n1"}}, "n1"));
  EXPECT_EQ(volume.claim_ref, "shop/store");
  EXPECT_EQ(volume.claim_ref_uid, "u1");
  EXPECT_EQ(volume.phase, "Bound");
}

TEST(DecodePersistentVolume, NamesTheFieldOfEveryError) {
  const auto bad_spec = [](const std::string& spec, std::string_view error) {
    bad(decode_persistent_volume, R"({"metadata":{"name":"v"},"spec":{)" + spec + "}}", error);
  };
  const std::string rest = R"("accessModes":["ReadWriteOnce"],)";
  bad(decode_persistent_volume, R"({"metadata":{"name":"v"}})", "spec: missing");
  bad_spec(R"("accessModes":["ReadWriteOnce"])", "spec.capacity: missing");
  bad_spec(R"("accessModes":["ReadWriteOnce"],"capacity":{})", "spec.capacity.storage: missing");
  bad_spec(rest + R"("capacity":{"storage":"0"})", "spec.capacity.storage: must be greater than 0");
  bad_spec(R"("capacity":{"storage":"1Gi"})", "spec.accessModes: expected at least one of");
  bad_spec(R"("capacity":{"storage":"1Gi"},"accessModes":["RWO"])", "spec.accessModes[0]: expected one of");
  bad_spec(rest + R"("capacity":{"storage":"1Gi"},"local":{"path":"/a"})", "spec.nodeAffinity: missing");
  bad_spec(rest + R"("capacity":{"storage":"1Gi"},"local":{"path":"a/../b"},"nodeAffinity":{"required":)"
                  R"({"nodeSelectorTerms":[{}]}})",
           "spec.local.path: expected an absolute path");
  bad_spec(rest + R"("capacity":{"storage":"1Gi"},"nodeAffinity":{})", "spec.nodeAffinity.required: missing");
  bad_spec(rest + R"("capacity":{"storage":"1Gi"},"claimRef":{})", "spec.claimRef.name: missing");
}

TEST(DecodePersistentVolumeClaim, ReadsAClaim) {
  const PersistentVolumeClaim claim = good(decode_persistent_volume_claim, R"({"metadata":{"name":"store"},
    "spec":{"storageClassName":"","accessModes":["ReadWriteOnce","ReadOnlyMany"],"volumeName":"pv1",
    "resources":{"requests":{"storage":"1Gi"}},"selector":{"matchLabels":{"a":"b"},
    "matchExpressions":[{"key":"c","operator":"DoesNotExist"}]}},"status":{"phase":"Lost","conditions":[]}})");
  EXPECT_EQ(claim.metadata.key(), "default/store");
  EXPECT_EQ(claim.storage_class_name, "");
  EXPECT_EQ(claim.request.value(), 1 << 30);
  EXPECT_EQ(claim.volume_name, "pv1");
  EXPECT_EQ(claim.phase, "Lost");
  ASSERT_TRUE(claim.selector);
  EXPECT_TRUE(matches(*claim.selector, {{"a", "b"}}));
  EXPECT_FALSE(matches(*claim.selector, {{"a", "b"}, {"c", ""}}));
}

TEST(DecodePersistentVolumeClaim, DistinguishesAnAbsentClassFromAnEmptyOne) {
  const std::string spec = R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":1}}})";
  EXPECT_EQ(
      good(decode_persistent_volume_claim, R"({"metadata":{"name":"c"},"spec":{)" + spec + "}").storage_class_name,
      std::nullopt);
  EXPECT_EQ(
      good(decode_persistent_volume_claim,
           R"({"metadata":{"name":"c","annotations":{"volume.beta.kubernetes.io/storage-class":"old"}},"spec":{)" +
               spec + "}")
          .storage_class_name,
      "old");
}

TEST(DecodePersistentVolumeClaim, NamesTheFieldOfEveryError) {
  const auto bad_spec = [](const std::string& spec, std::string_view error) {
    bad(decode_persistent_volume_claim,
        R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],)" + spec + "}}", error);
  };
  bad_spec(R"("volumeMode":"Filesystem")", "spec.resources: missing");
  bad_spec(R"("resources":{})", "spec.resources.requests: missing");
  bad_spec(R"("resources":{"requests":{}})", "spec.resources.requests.storage: missing");
  bad_spec(R"("resources":{"requests":{"storage":"-1"}})", "spec.resources.requests.storage: must be greater than 0");
  bad_spec(R"("resources":{"requests":{"storage":"1"}},"volumeMode":"File")", "spec.volumeMode: expected one of");
  bad_spec(R"("resources":{"requests":{"storage":"1"}},"selector":{"matchExpressions":[{"key":"a","operator":"Gt"}]})",
           "spec.selector.matchExpressions[0].operator: expected one of In, NotIn, Exists, DoesNotExist, got");
}

TEST(DecodeStorageClass, ReadsItsBindingMode) {
  const StorageClass local = good(decode_storage_class, R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass",
    "metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer",
    "reclaimPolicy":"Retain","parameters":{}})");
  EXPECT_EQ(local.provisioner, StorageClass::kNoProvisioner);
  EXPECT_TRUE(local.wait_for_first_consumer);
  EXPECT_EQ(local.reclaim_policy, "Retain");
  EXPECT_FALSE(good(decode_storage_class, R"({"metadata":{"name":"x"},"provisioner":"a/b"})").wait_for_first_consumer);
  bad(decode_storage_class, R"({"metadata":{"name":"x"}})", "provisioner: missing");
  bad(decode_storage_class, R"({"metadata":{"name":"x"},"provisioner":"a","volumeBindingMode":"Later"})",
      "volumeBindingMode: expected one of Immediate, WaitForFirstConsumer, got \"Later\"");
  bad(decode_storage_class, R"({"apiVersion":"v1","metadata":{"name":"x"},"provisioner":"a"})",
      "apiVersion: expected storage.k8s.io/v1, got \"v1\"");
}

TEST(DecodePriorityClass, ReadsItsValue) {
  const PriorityClass high = good(decode_priority_class, R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",
    "metadata":{"name":"high"},"value":1000000000,"globalDefault":true,"preemptionPolicy":"Never","description":"x"})");
  EXPECT_EQ(high.value, 1000000000);
  EXPECT_TRUE(high.global_default);
  EXPECT_EQ(high.preemption_policy, "Never");
  EXPECT_EQ(good(decode_priority_class, R"({"metadata":{"name":"system-x"},"value":2000000000})").value, 2000000000);
  bad(decode_priority_class, R"({"metadata":{"name":"x"}})", "value: missing");
  bad(decode_priority_class, R"({"metadata":{"name":"x"},"value":2147483648})", "value: expected an integer");
  bad(decode_priority_class, R"({"metadata":{"name":"x"},"value":1000000001})", "value: must be at most 1000000000");
}

TEST(DecodeNamespace, ReadsItsLabels) {
  const Namespace space =
      good(decode_namespace, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"a":"b"}}})");
  EXPECT_EQ(space.metadata.key(), "shop");
  EXPECT_EQ(space.metadata.labels.at("a"), "b");
  bad(decode_namespace, R"({"metadata":{"name":"s","uid":5}})", "metadata.uid: expected a string, got 5");
}

}  // namespace
}  // namespace berth
