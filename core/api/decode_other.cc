// Nodes, volumes, classes and namespaces.
#include <limits>

#include "core/api/decode.h"

namespace berth {

Result<Node> decode_node(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, {}, findings);
  Node node;
  decode::type_meta(reader, "v1", Kind::node);
  node.metadata = decode::metadata(reader, false);
  reader.object("spec", [&](FieldReader& spec) {
    node.taints = decode::taints(spec, "taints");
    node.unschedulable = spec.boolean("unschedulable");
    spec.accept({"configSource", "externalID", "podCIDR", "podCIDRs", "providerID"});
  });
  reader.object("status", [&](FieldReader& status) {
    const ResourceList capacity = status.quantity_map("capacity");
    node.allocatable = status.has("allocatable") ? status.quantity_map("allocatable") : capacity;
    status.each("images", [&](FieldReader& image) {
      ContainerImage entry;
      entry.names = image.texts("names");
      entry.size_bytes = image.integer("sizeBytes", 0, 0, std::int64_t{1} << 53);
      node.images.push_back(std::move(entry));
    });
    status.accept({"addresses", "conditions", "config", "daemonEndpoints", "declaredFeatures", "features", "nodeInfo",
                   "phase", "runtimeHandlers", "volumesAttached", "volumesInUse", "incarnation"});
  });
  node.manifest = json;
  return decode::finish(std::move(node), reader, findings, warnings);
}

Result<PersistentVolume> decode_persistent_volume(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, {}, findings);
  PersistentVolume volume;
  decode::type_meta(reader, "v1", Kind::persistent_volume);
  volume.metadata = decode::metadata(reader, false);
  const bool found = reader.object("spec", [&](FieldReader& spec) {
    const auto capacity = spec.quantity_map("capacity");
    if (auto storage = capacity.find("storage"); storage != capacity.end()) {
      volume.capacity = storage->second;
    } else {
      spec.fail("capacity.storage", "is missing");
    }
    volume.storage_class_name = spec.text("storageClassName");
    volume.access_modes = decode::access_modes(spec);
    volume.volume_mode = spec.word("volumeMode", {"Filesystem", "Block"});
    volume.reclaim_policy = spec.word("persistentVolumeReclaimPolicy", {"Retain", "Delete", "Recycle"});
    spec.object("local", [&](FieldReader& local) {
      volume.local_path = local.required_text("path");
      local.accept({"fsType"});
    });
    spec.object("nodeAffinity", [&](FieldReader& affinity) {
      affinity.object("required",
                      [&](FieldReader& required) { volume.node_affinity = decode::node_selector(required); });
    });
    if (!volume.local_path.empty() && !volume.node_affinity) {
      spec.fail("nodeAffinity", "is missing: a local volume must say on which node it is");
    }
    spec.object("claimRef", [&](FieldReader& claim) {
      volume.claim_ref = claim.text("namespace", "default") + "/" + claim.required_text("name");
      volume.claim_ref_uid = claim.text("uid");
      claim.accept({"apiVersion", "kind", "resourceVersion", "fieldPath"});
    });
    spec.accept({"hostPath", "mountOptions", "volumeAttributesClassName"});
    spec.not_honoured({"csi", "nfs", "iscsi", "rbd", "fc", "gcePersistentDisk", "awsElasticBlockStore"});
  });
  if (!found && !reader.has("spec")) reader.fail("spec", "is missing");
  reader.object("status", [&](FieldReader& status) {
    volume.phase = status.word("phase", {"Available", "Pending", "Bound", "Released", "Failed"});
    status.accept({"message", "reason", "lastPhaseTransitionTime"});
  });
  volume.manifest = json;
  return decode::finish(std::move(volume), reader, findings, warnings);
}

Result<PersistentVolumeClaim> decode_persistent_volume_claim(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, {}, findings);
  PersistentVolumeClaim claim;
  decode::type_meta(reader, "v1", Kind::persistent_volume_claim);
  claim.metadata = decode::metadata(reader, true);
  const bool found = reader.object("spec", [&](FieldReader& spec) {
    spec.object("resources", [&](FieldReader& resources) {
      const auto requests = resources.quantity_map("requests");
      if (auto storage = requests.find("storage"); storage != requests.end()) claim.request = storage->second;
      resources.accept({"limits"});
    });
    claim.storage_class_name = spec.optional_text("storageClassName");
    claim.access_modes = decode::access_modes(spec);
    claim.volume_mode = spec.word("volumeMode", {"Filesystem", "Block"});
    claim.volume_name = spec.text("volumeName");
    spec.object("selector", [&](FieldReader& selector) { claim.selector = decode::label_selector(selector); });
    spec.not_honoured({"dataSource", "dataSourceRef"});
    spec.accept({"volumeAttributesClassName"});
  });
  if (!found && !reader.has("spec")) reader.fail("spec", "is missing");
  reader.object("status", [&](FieldReader& status) {
    claim.phase = status.word("phase", {"Pending", "Bound", "Lost"});
    status.accept({"accessModes", "allocatedResources", "capacity", "conditions"});
  });
  claim.manifest = json;
  return decode::finish(std::move(claim), reader, findings, warnings);
}

Result<StorageClass> decode_storage_class(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, {}, findings);
  StorageClass storage_class;
  decode::type_meta(reader, "storage.k8s.io/v1", Kind::storage_class);
  storage_class.metadata = decode::metadata(reader, false);
  storage_class.provisioner = reader.required_text("provisioner");
  storage_class.wait_for_first_consumer =
      reader.word("volumeBindingMode", {"Immediate", "WaitForFirstConsumer"}) == "WaitForFirstConsumer";
  storage_class.reclaim_policy = reader.word("reclaimPolicy", {"Delete", "Retain"});
  reader.accept({"allowVolumeExpansion", "mountOptions", "parameters"});
  reader.not_honoured({"allowedTopologies"});
  storage_class.manifest = json;
  return decode::finish(std::move(storage_class), reader, findings, warnings);
}

Result<PriorityClass> decode_priority_class(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, {}, findings);
  PriorityClass priority_class;
  decode::type_meta(reader, "scheduling.k8s.io/v1", Kind::priority_class);
  priority_class.metadata = decode::metadata(reader, false);
  if (!reader.has("value")) reader.fail("value", "is missing");
  priority_class.value = static_cast<std::int32_t>(
      reader.integer("value", 0, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
  priority_class.global_default = reader.boolean("globalDefault");
  priority_class.preemption_policy = reader.word("preemptionPolicy", {"", "PreemptLowerPriority", "Never"});
  reader.accept({"description"});
  priority_class.manifest = json;
  return decode::finish(std::move(priority_class), reader, findings, warnings);
}

Result<Namespace> decode_namespace(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, {}, findings);
  Namespace name_space;
  decode::type_meta(reader, "v1", Kind::namespace_);
  name_space.metadata = decode::metadata(reader, false);
  reader.accept({"spec", "status"});
  name_space.manifest = json;
  return decode::finish(std::move(name_space), reader, findings, warnings);
}

}  // namespace berth
