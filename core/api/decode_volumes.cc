#include "core/api/decode_parts.h"
#include "core/api/read_quantity.h"
#include "core/api/volume.h"

namespace berth {
namespace {

using decode::kNameForm;

// Older manifests give the class in an annotation, which takes precedence (component-helpers storage/volume,
// GetPersistentVolumeClass).
constexpr const char* kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

bool is_absolute_path(std::string_view path) {
  if (!path.starts_with('/')) return false;
  return (std::string(path) + "/").find("/../") == std::string::npos;
}

// "storage" in capacity or resources.requests: required, and greater than 0.
void read_storage(FieldReader& reader, Quantity& out) {
  if (reader.require("storage", "a quantity such as 1Gi") && read_quantity(reader, "storage", out) &&
      out <= Quantity()) {
    reader.rule("storage", "must be greater than 0, got " + out.to_text());
  }
}

void read_claim_ref(FieldReader& reader, PersistentVolume& volume) {
  ObjectMeta claim;
  claim.namespace_ = "default";
  reader.read_checked("namespace", claim.namespace_.edit(), is_valid_name, kNameForm);
  if (reader.require("name", kNameForm) && reader.read_checked("name", claim.name, is_valid_name, kNameForm)) {
    volume.claim_ref = claim.key();
  }
  reader.read_string("uid", volume.claim_ref_uid);
}

void read_volume_source(FieldReader& spec, PersistentVolume& volume) {
  const bool local = spec.read_object("local", [&](FieldReader& source) {
    if (source.require("path", "an absolute path")) {
      source.read_checked("path", volume.local_path, is_absolute_path, "an absolute path without \"..\"");
    }
  });
  if (local && !volume.node_affinity && !spec.has("nodeAffinity")) {
    spec.rule("nodeAffinity", "missing; a local volume must name its node in nodeAffinity.required");
  }
  decode::read_disk_sources(spec, volume.disk);
  if (volume.disk.type == DiskSource::Type::csi) {
    volume.csi_driver = volume.disk.id;
    if (const Json* handle = spec.take("csi")->find("volumeHandle"); handle != nullptr && handle->is_string()) {
      volume.csi_volume_handle = handle->as_string();
    } else {
      spec.findings().rule(member_path(spec.path_of("csi"), "volumeHandle"), "missing; expected a string");
    }
  }
  spec.unsupported({"azureFile", "cephfs", "fc", "flexVolume", "flocker", "glusterfs", "nfs", "photonPersistentDisk",
                    "portworxVolume", "quobyte", "scaleIO", "storageos", "vsphereVolume"});
}

void read_volume_spec(FieldReader& spec, PersistentVolume& volume) {
  if (spec.require("capacity", "an object with storage")) {
    spec.read_object("capacity", [&](FieldReader& capacity) { read_storage(capacity, volume.capacity); });
  }
  spec.read_string("storageClassName", volume.storage_class_name);
  decode::read_modes(spec, volume.access_modes, volume.volume_mode);
  spec.read_enum("persistentVolumeReclaimPolicy", {"Retain", "Delete", "Recycle"}, volume.reclaim_policy);
  spec.read_object("nodeAffinity", [&](FieldReader& affinity) {
    if (!affinity.require("required", "an object with nodeSelectorTerms")) return;
    affinity.read_object("required", [&](FieldReader& selector) {
      decode::read_node_selector(selector, volume.node_affinity.emplace());
    });
  });
  spec.read_object("claimRef", [&](FieldReader& reference) { read_claim_ref(reference, volume); });
  read_volume_source(spec, volume);
  spec.read_string("volumeAttributesClassName", volume.volume_attributes_class_name);
}

void read_claim_spec(FieldReader& spec, PersistentVolumeClaim& claim) {
  if (spec.require("resources", "an object with requests.storage")) {
    spec.read_object("resources", [&](FieldReader& resources) {
      if (resources.require("requests", "an object with storage")) {
        resources.read_object("requests", [&](FieldReader& requests) { read_storage(requests, claim.request); });
      }
    });
  }
  std::string storage_class;
  if (spec.read_string("storageClassName", storage_class)) claim.storage_class_name = storage_class;
  decode::read_modes(spec, claim.access_modes, claim.volume_mode);
  const Json* volume = spec.take("volumeName");
  if (volume != nullptr && *volume != Json("")) {
    spec.read_checked("volumeName", claim.volume_name, is_valid_name, kNameForm);
  }
  spec.read_object("selector",
                   [&](FieldReader& selector) { decode::read_label_selector(selector, claim.selector.emplace()); });
  spec.unsupported({"dataSource", "dataSourceRef"});
  spec.read_string("volumeAttributesClassName", claim.volume_attributes_class_name);
}

// allowedTopologies: each item is a list of labels; all must match, each with one of its values (core/v1
// TopologySelectorTerm).
void read_topologies(FieldReader& reader, std::vector<LabelSelector>& out) {
  reader.read_each("allowedTopologies", [&](FieldReader& item) {
    LabelSelector& term = out.emplace_back();
    item.read_each("matchLabelExpressions", [&](FieldReader& expression) {
      Requirement& requirement = term.requirements.emplace_back();
      if (expression.require("key", decode::kLabelKeyForm)) {
        expression.read_checked("key", requirement.key, is_label_key, decode::kLabelKeyForm);
      }
      expression.read_list("values", requirement.values);
      if (requirement.values.empty()) expression.rule("values", "expected at least one value");
    });
  });
}

}  // namespace

Result<PersistentVolume> decode_persistent_volume(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  PersistentVolume volume;
  decode::read_head(reader, Kind::persistent_volume, volume.metadata);
  if (reader.require("spec", "an object with capacity and accessModes")) {
    reader.read_object("spec", [&](FieldReader& spec) { read_volume_spec(spec, volume); });
  }
  reader.read_object("status", [&](FieldReader& status) {
    status.read_enum("phase", {"Pending", "Available", "Bound", "Released", "Failed"}, volume.phase);
  });
  reader.finish();
  const auto annotation = volume.metadata.annotations.find(kClassAnnotation);
  if (annotation != volume.metadata.annotations.end()) volume.storage_class_name = annotation->second;
  return decode::conclude(Kind::persistent_volume, std::move(volume), json, findings, warnings);
}

Result<PersistentVolumeClaim> decode_persistent_volume_claim(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  PersistentVolumeClaim claim;
  decode::read_head(reader, Kind::persistent_volume_claim, claim.metadata);
  if (reader.require("spec", "an object with accessModes and resources")) {
    reader.read_object("spec", [&](FieldReader& spec) { read_claim_spec(spec, claim); });
  }
  reader.read_object(
      "status", [&](FieldReader& status) { status.read_enum("phase", {"Pending", "Bound", "Lost"}, claim.phase); });
  reader.finish();
  const auto annotation = claim.metadata.annotations.find(kClassAnnotation);
  if (annotation != claim.metadata.annotations.end()) claim.storage_class_name = annotation->second;
  return decode::conclude(Kind::persistent_volume_claim, std::move(claim), json, findings, warnings);
}

Result<StorageClass> decode_storage_class(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  StorageClass storage_class;
  decode::read_head(reader, Kind::storage_class, storage_class.metadata);
  constexpr std::string_view kProvisionerForm = "the name of a provisioner such as kubernetes.io/no-provisioner";
  if (reader.require("provisioner", kProvisionerForm)) {
    reader.read_checked("provisioner", storage_class.provisioner, is_label_key, kProvisionerForm);
  }
  std::string mode;
  reader.read_enum("volumeBindingMode", {"Immediate", "WaitForFirstConsumer"}, mode);
  storage_class.wait_for_first_consumer = mode == "WaitForFirstConsumer";
  if (storage_class.provisioner == StorageClass::kLocalProvisioner && !storage_class.wait_for_first_consumer) {
    reader.rule("volumeBindingMode", "must be WaitForFirstConsumer for provisioner " +
                                         std::string(StorageClass::kLocalProvisioner) +
                                         ", which makes a volume on the node that a pod is placed on");
  }
  reader.read_enum("reclaimPolicy", {"Delete", "Retain"}, storage_class.reclaim_policy);
  read_topologies(reader, storage_class.allowed_topologies);
  reader.finish();
  return decode::conclude(Kind::storage_class, std::move(storage_class), json, findings, warnings);
}

}  // namespace berth
