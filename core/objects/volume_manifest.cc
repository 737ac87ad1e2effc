#include "core/objects/volume_manifest.h"

#include <utility>

#include "core/api/volume.h"
#include "core/objects/reserved_labels.h"

namespace berth {

Json manifest_of(LocalVolumeManifest volume) {
  Json expression = Json::object();
  expression.set("key", kHostnameLabel).set("operator", "In").set("values", Json(Json::Array{Json(volume.node)}));
  Json term(Json::Object{{"matchExpressions", Json(Json::Array{std::move(expression)})}});
  Json required(Json::Object{{"nodeSelectorTerms", Json(Json::Array{std::move(term)})}});
  Json spec = Json::object();
  spec.set("capacity", Json(Json::Object{{"storage", Json(volume.capacity)}}));
  spec.set("accessModes", std::move(volume.access_modes));
  spec.set("persistentVolumeReclaimPolicy", volume.reclaim_policy);
  spec.set("storageClassName", volume.storage_class);
  spec.set("local", Json(Json::Object{{"path", Json(volume.path)}}));
  spec.set("nodeAffinity", Json(Json::Object{{"required", std::move(required)}}));
  Json metadata = Json::object();
  metadata.set("name", volume.name).set("annotations", std::move(volume.annotations));
  Json manifest = Json::object();
  manifest.set("apiVersion", "v1").set("kind", "PersistentVolume");
  manifest.set("metadata", std::move(metadata)).set("spec", std::move(spec));
  return manifest;
}

std::string maker_of(const PersistentVolume& volume) {
  const auto& annotations = volume.metadata.annotations;
  const auto maker = annotations.find(std::string(kProvisionedBy));
  const auto node = annotations.find(std::string(kOfferedBy));
  const bool is_made = maker != annotations.end() && maker->second == StorageClass::kLocalProvisioner;
  return is_made && node != annotations.end() ? node->second : std::string();
}

}  // namespace berth
