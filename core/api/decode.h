// Decodes the Kubernetes objects that Berth supports (k8s.io/api core/v1, storage/v1, scheduling/v1, policy/v1) from
// JSON.
#pragma once

#include <string>
#include <vector>

#include "core/json/findings.h"
#include "core/status.h"

namespace berth {

class Json;
struct ConfigMap;
struct CsiDriver;
struct CsiNode;
struct CsiStorageCapacity;
struct Namespace;
struct Node;
struct PersistentVolume;
struct PersistentVolumeClaim;
struct Pod;
struct PodDisruptionBudget;
struct PriorityClass;
struct Secret;
struct Service;
struct StorageClass;

// Warnings from decoding: "spec.containers[0].imagee: unknown field".
using Warnings = std::vector<std::string>;

// Decode from Kubernetes JSON, without the API server's defaults (see set_defaults()). Wrong types, missing names,
// invalid quantities, and names outside [a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])? are a Code::error, each reason starting
// with the path of the field ("spec.containers[0].resources.requests.memory: ..."). Unknown fields cause warnings.
// `warnings` may be null.
Result<Pod> decode_pod(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<Node> decode_node(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PersistentVolume> decode_persistent_volume(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PersistentVolumeClaim> decode_persistent_volume_claim(const Json& json, Warnings* warnings,
                                                             Rules rules = Rules::enforced);
Result<StorageClass> decode_storage_class(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PriorityClass> decode_priority_class(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<Namespace> decode_namespace(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<Service> decode_service(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<PodDisruptionBudget> decode_pod_disruption_budget(const Json& json, Warnings* warnings,
                                                         Rules rules = Rules::enforced);
Result<CsiNode> decode_csi_node(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<CsiDriver> decode_csi_driver(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<CsiStorageCapacity> decode_csi_storage_capacity(const Json& json, Warnings* warnings,
                                                       Rules rules = Rules::enforced);
Result<ConfigMap> decode_config_map(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);
Result<Secret> decode_secret(const Json& json, Warnings* warnings, Rules rules = Rules::enforced);

}  // namespace berth
