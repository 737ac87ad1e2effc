#include "firmware-host/agent/images/image_manifest.h"

#include <algorithm>
#include <array>

#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/json_fields.h"
#include "firmware-host/agent/images/sha256.h"

namespace berth {

namespace {

constexpr JsonFields::Limits kManifestLimits{.entries = ImageConfig::kMostLayers, .string = 1024};
constexpr std::string_view kConfigType = "application/vnd.oci.image.config.v1+json";
constexpr std::array<std::string_view, 6> kLayerTypes{"application/vnd.oci.image.layer.v1.tar",
                                                      "application/vnd.oci.image.layer.v1.tar+gzip",
                                                      "application/vnd.oci.image.layer.v1.tar+zstd",
                                                      "application/vnd.oci.image.layer.nondistributable.v1.tar",
                                                      "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
                                                      "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"};

BlobDescriptor descriptor(JsonFields fields) {
  return {.digest = fields.digest("digest"), .size = fields.size("size")};
}

Result<Json> document(std::string_view json) {
  return Json::parse(json, {.bytes = ImageConfig::kMostBytes, .depth = 64});
}

}  // namespace

Result<ImageManifest> read_image_manifest(std::string_view json) {
  const Result<Json> parsed = document(json);
  if (!parsed) return Status::error("image manifest: " + parsed.error().message());
  Status fault;
  JsonFields root(&*parsed, "", kManifestLimits, fault);
  ImageManifest manifest;
  JsonFields config = root.object("config", true);
  if (const std::string type = config.string("mediaType"); type != kConfigType) {
    config.fail(config.path_of("mediaType"), std::string(kConfigType) + ", got \"" + type + "\"");
  }
  manifest.config = descriptor(config);
  for (JsonFields& layer : root.objects("layers")) {
    const std::string type = layer.string("mediaType");
    if (std::ranges::find(kLayerTypes, type) == kLayerTypes.end()) {
      layer.fail(layer.path_of("mediaType"),
                 "that of a tar, plain or compressed with gzip or zstd, got \"" + type + "\"");
    }
    manifest.layers.push_back(descriptor(layer));
  }
  if (!fault.is_success()) return Status::error("image manifest: " + fault.message());
  return manifest;
}

Result<BlobDescriptor> read_layout_index(std::string_view json) {
  const Result<Json> parsed = document(json);
  if (!parsed) return Status::error("index of the layout: " + parsed.error().message());
  Status fault;
  JsonFields root(&*parsed, "", kManifestLimits, fault);
  const std::vector<JsonFields> manifests = root.objects("manifests");
  if (manifests.size() != 1) root.fail("manifests", "one manifest, got " + std::to_string(manifests.size()));
  BlobDescriptor found = manifests.size() == 1 ? descriptor(manifests[0]) : BlobDescriptor{};
  if (!fault.is_success()) return Status::error("index of the layout: " + fault.message());
  return found;
}

std::vector<std::string> chain_ids(const std::vector<std::string>& diff_ids) {
  std::vector<std::string> chain;
  for (const std::string& diff_id : diff_ids) {
    chain.push_back(chain.empty() ? diff_id : sha256_digest(chain.back() + " " + diff_id));
  }
  return chain;
}

}  // namespace berth
