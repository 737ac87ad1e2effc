#include "firmware-host/agent/images/image_manifest.h"

#include <algorithm>
#include <array>

#include "core/json/field_reader.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/image_fields.h"
#include "firmware-host/agent/images/sha256.h"

namespace berth {

namespace {

constexpr Findings::Bounds kManifestBounds{.entries = ImageConfig::kMostLayers, .bytes = 1024};
constexpr std::string_view kConfigType = "application/vnd.oci.image.config.v1+json";
constexpr std::array<std::string_view, 6> kLayerTypes{"application/vnd.oci.image.layer.v1.tar",
                                                      "application/vnd.oci.image.layer.v1.tar+gzip",
                                                      "application/vnd.oci.image.layer.v1.tar+zstd",
                                                      "application/vnd.oci.image.layer.nondistributable.v1.tar",
                                                      "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
                                                      "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"};

BlobDescriptor descriptor(FieldReader& fields) {
  BlobDescriptor read;
  require_digest(fields, "digest", read.digest);
  require_size(fields, "size", read.size);
  return read;
}

bool is_config_type(std::string_view type) { return type == kConfigType; }

bool is_layer_type(std::string_view type) { return std::ranges::find(kLayerTypes, type) != kLayerTypes.end(); }

Result<Json> document(std::string_view json) {
  return Json::parse(json, {.bytes = ImageConfig::kMostBytes, .depth = 64});
}

}  // namespace

Result<ImageManifest> read_image_manifest(std::string_view json) {
  const Result<Json> parsed = document(json);
  if (!parsed) return Status::error("image manifest: " + parsed.error().message());
  Findings findings(kManifestBounds);
  FieldReader root(*parsed, "", findings);
  ImageManifest manifest;
  root.require("config", "an object");
  root.read_object("config", [&](FieldReader& config) {
    std::string type;
    require_checked(config, "mediaType", type, is_config_type, kConfigType);
    manifest.config = descriptor(config);
  });
  root.read_each("layers", [&](FieldReader& layer) {
    std::string type;
    require_checked(layer, "mediaType", type, is_layer_type, "that of a tar, plain or compressed with gzip or zstd");
    manifest.layers.push_back(descriptor(layer));
  });
  if (findings.has_errors()) return Status::error("image manifest: " + findings.status().message());
  return manifest;
}

Result<BlobDescriptor> read_layout_index(std::string_view json) {
  const Result<Json> parsed = document(json);
  if (!parsed) return Status::error("index of the layout: " + parsed.error().message());
  Findings findings(kManifestBounds);
  FieldReader root(*parsed, "", findings);
  std::vector<BlobDescriptor> manifests;
  root.read_each("manifests", [&](FieldReader& manifest) { manifests.push_back(descriptor(manifest)); });
  if (manifests.size() != 1) root.error("manifests", "expected one, got " + std::to_string(manifests.size()));
  if (findings.has_errors()) return Status::error("index of the layout: " + findings.status().message());
  return manifests.front();
}

std::vector<std::string> chain_ids(const std::vector<std::string>& diff_ids) {
  std::vector<std::string> chain;
  for (const std::string& diff_id : diff_ids) {
    chain.push_back(chain.empty() ? diff_id : sha256_digest(chain.back() + " " + diff_id));
  }
  return chain;
}

}  // namespace berth
