// The stored form of decoded pods and nodes: round trips, and damaged input.
#include "core/api/packed.h"
#include "core/api/decode.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/shape.h"

#include <gtest/gtest.h>

#include "core/api/defaults.h"
#include "core/objects/pod_record.h"

namespace berth {
namespace {

constexpr const char kRich[] = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop",
  "uid":"7c9e6679-7425-40de-944b-e07fc1f90ae7","labels":{"app":"web","tier":"front"},"annotations":{"note":"x"},
  "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"o-1","controller":true}]},
  "spec":{"schedulerName":"default-scheduler","priority":-7,"priorityClassName":"low","preemptionPolicy":"Never",
  "nodeName":"n1","nodeSelector":{"zone":"a"},"hostNetwork":true,"restartPolicy":"OnFailure",
  "terminationGracePeriodSeconds":5,"overhead":{"cpu":"10m"},"schedulingGates":[{"name":"wait"}],
  "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
    {"matchExpressions":[{"key":"disk","operator":"NotIn","values":["hdd","tape"]}]}]},
    "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":3,"preference":{"matchFields":[
    {"key":"metadata.name","operator":"In","values":["n1"]}]}}]},
   "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","namespaces":["shop"],
    "labelSelector":{"matchLabels":{"app":"db"}}}]},
   "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":9,"podAffinityTerm":{
    "topologyKey":"host","namespaceSelector":{},"matchLabelKeys":["tier"],"labelSelector":{}}}]}},
  "topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":3,
    "nodeTaintsPolicy":"Honor","labelSelector":{"matchLabels":{"app":"web"}}}],
  "tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":30}],
  "initContainers":[{"name":"side","image":"s","restartPolicy":"Always"}],
  "containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80,"hostPort":8080,"protocol":"UDP"}],
    "resources":{"requests":{"cpu":"1500m","memory":"64Mi","example.com/gpu":"1"},"limits":{"memory":"128Mi",
    "example.com/gpu":"1"}}}],
  "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}},{"name":"e","emptyDir":{}},
    {"name":"r","rbd":{"image":"img","monitors":["m1","m2"],"readOnly":true}}],
  "resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpus"}]}})";

Pod rich() {
  Result<Pod> pod = decode_accepted_pod(*Json::parse(kRich));
  EXPECT_TRUE(pod.has_value()) << pod.error().message();
  pod->nominated_node_name = "n9";
  pod->start_time = -5;
  pod->preempted = true;
  return std::move(*pod);
}

std::string packed(const Pod& pod) {
  ByteWriter out;
  pack_pod(out, pod);
  return out.take();
}

TEST(PackedPod, RoundTrips) {
  const Pod pod = rich();
  const std::string bytes = packed(pod);
  ASSERT_TRUE(is_pod_packed_alike(bytes));
  const auto back = std::make_unique<Pod>();
  ASSERT_TRUE(unpack_pod(bytes, *back));
  EXPECT_EQ(packed(*back), bytes);
  EXPECT_EQ(back->metadata.key(), "shop/web");
  EXPECT_EQ(back->uid(), pod.uid());
  EXPECT_EQ(back->metadata.labels, pod.metadata.labels);
  EXPECT_EQ(back->metadata.controller_uid, "o-1");
  EXPECT_EQ(back->priority, -7);
  EXPECT_EQ(back->affinity->required_node_affinity, pod.affinity->required_node_affinity);
  EXPECT_EQ(back->affinity->preferred_node_affinity, pod.affinity->preferred_node_affinity);
  EXPECT_EQ(back->affinity->pod_affinity, pod.affinity->pod_affinity);
  EXPECT_EQ(back->affinity->pod_anti_affinity, pod.affinity->pod_anti_affinity);
  EXPECT_EQ(back->spec->topology_spread_constraints, pod.spec->topology_spread_constraints);
  EXPECT_EQ(back->spec->tolerations, pod.spec->tolerations);
  EXPECT_EQ(back->spec->containers.at(0).requests, pod.spec->containers.at(0).requests);
  EXPECT_EQ(back->spec->containers.at(0).host_ports, pod.spec->containers.at(0).host_ports);
  EXPECT_TRUE(back->spec->init_containers.at(0).restart_always);
  EXPECT_EQ(back->volumes.at(2).disk.monitors, (std::vector<std::string>{"m1", "m2"}));
  EXPECT_TRUE(back->spec->limits == pod.spec->limits);
  EXPECT_EQ(back->spec->resource_claims.at(0).template_name, "gpus");
  EXPECT_EQ(back->start_time, OptionalTime(-5));
}

TEST(PackedNode, RoundTripsAndDetectsDamage) {
  const Result<Node> node = decode_node(
      *Json::parse(
          R"({"kind":"Node","metadata":{"name":"n1","labels":{"zone":"a"}},"spec":{"unschedulable":true,"taints":[
        {"key":"k","value":"v","effect":"NoExecute"}]},"status":{"allocatable":{"cpu":"1500m","example.com/gpu":"2"},
        "images":[{"names":["i:1","i:2"],"sizeBytes":70000}],"conditions":[{"type":"Ready","status":"True"}]}})"),
      nullptr);
  ASSERT_TRUE(node.has_value()) << node.error().message();
  ByteWriter out;
  pack_node(out, *node);
  const std::string bytes = out.take();
  ASSERT_TRUE(is_node_packed_alike(bytes));
  Node back;
  ASSERT_TRUE(unpack_node(bytes, back));
  EXPECT_EQ(back.metadata.name, "n1");
  EXPECT_EQ(back.metadata.labels, node->metadata.labels);
  EXPECT_EQ(back.metadata.labels.packed(), nullptr) << "they have the node's name: no other node has them";
  share_parts(back);
  EXPECT_EQ(back.metadata.labels.packed(), nullptr);
  EXPECT_NE(back.taints.packed(), nullptr);
  EXPECT_EQ(back.taints, node->taints);
  EXPECT_TRUE(back.unschedulable);
  EXPECT_EQ(back.allocatable, node->allocatable);
  EXPECT_EQ(back.images.at(0).names, node->images.at(0).names);
  EXPECT_EQ(back.images.at(0).size_bytes, 70000);
  EXPECT_EQ(back.conditions, node->conditions);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Node cut;
    EXPECT_FALSE(unpack_node(bytes.substr(0, size), cut)) << size;
  }
  EXPECT_FALSE(is_node_packed_alike("\x7f"));
}

TEST(PackedPod, DetectsDamageAndOtherVersions) {
  const std::string bytes = packed(rich());
  Pod pod;
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(unpack_pod(bytes.substr(0, size), pod)) << size;
  EXPECT_FALSE(unpack_pod(bytes + "x", pod));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = '\xff';
    Pod any;
    static_cast<void>(unpack_pod(damaged, any));  // must terminate; the result does not matter
  }
  std::string another = bytes;
  ++another[0];
  EXPECT_FALSE(is_pod_packed_alike(another));
  EXPECT_TRUE(is_pod_packed_alike(bytes.substr(0, 1)));
}

TEST(Manifest, KeepsTheTextOnly) {
  const std::string text = R"({"a":{"b":1}})";
  const Manifest manifest = Manifest::of_text(text);
  EXPECT_EQ(manifest.json(), *Json::parse(text));
  EXPECT_EQ(manifest.text(), text);
  static_assert(sizeof(Manifest) <= sizeof(void*), "there must be no parsed tree in it");
  EXPECT_EQ(manifest, Manifest(*Json::parse(text)));
  EXPECT_NE(manifest, Manifest::of_text(std::string(R"({"a":{"b":2}})")));
  EXPECT_EQ(Manifest::of_text(std::string("no json")).json(), Json::object());
  EXPECT_TRUE(Manifest().json().is_null());
  EXPECT_TRUE(Manifest(Json()).is_null());
}

// The form of schema version 2, byte by byte.
TEST(PodRecord, OfAnEarlierVersionHasTheFullManifest) {
  ByteWriter out;
  out.byte(1);
  out.number(2);
  out.integer(77);
  for (std::string_view text : {R"({"metadata":{"uid":"u1"}})", "", "n1", "", ""}) out.text(text);
  out.raw("rest");
  ASSERT_TRUE(is_pod_record(out.bytes()));
  const Result<PodRecord> record = decode_pod_record(out.bytes());
  ASSERT_TRUE(record.has_value()) << record.error().message();
  EXPECT_EQ(manifest_text(*record, "web"), R"({"metadata":{"uid":"u1"}})");
  EXPECT_TRUE(record->finished);
  EXPECT_EQ(record->arrived, 77);
  EXPECT_EQ(record->nominated_node, "n1");
  EXPECT_EQ(record->packed, "rest");
}

TEST(PodRecord, RoundTripsAndDetectsTruncation) {
  PodRecord record;
  record.finished = true;
  record.arrived = -3;
  ByteWriter uid;
  uid.id("7c9e6679-7425-40de-944b-e07fc1f90ae7");
  record.uid = uid.bytes();
  const std::string manifest = R"({"metadata":{"name":"web","uid":"7c9e6679-7425-40de-944b-e07fc1f90ae7"}})";
  const std::string shape = shape_of(manifest, "7c9e6679-7425-40de-944b-e07fc1f90ae7", "web");
  record.shape = shape;
  record.disruption = "why";
  record.nominated_node = "n1";
  record.observed = "{}";
  record.packed = "rest";
  const std::string stored = encode(record);
  ASSERT_TRUE(is_pod_record(stored));
  EXPECT_FALSE(is_pod_record(R"({"manifest":{}})"));
  const Result<PodRecord> back = decode_pod_record(stored);
  ASSERT_TRUE(back.has_value()) << back.error().message();
  EXPECT_FALSE(back->deleting);
  EXPECT_TRUE(back->finished);
  EXPECT_EQ(back->arrived, -3);
  EXPECT_EQ(manifest_text(*back, "web"), manifest);
  EXPECT_EQ(back->disruption, "why");
  EXPECT_EQ(back->nominated_node, "n1");
  EXPECT_EQ(back->observed, "{}");
  EXPECT_EQ(back->successor, "");
  EXPECT_EQ(back->packed, "rest");
  for (std::size_t size = 0; size + 4 < stored.size(); ++size) {
    EXPECT_FALSE(decode_pod_record(std::string_view(stored).substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace berth
