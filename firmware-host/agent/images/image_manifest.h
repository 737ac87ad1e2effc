// The manifest of an image: which blobs it is made of (OCI image-spec, Image Manifest), and the index of a layout that
// has a single one (Image Layout).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace berth {

struct BlobDescriptor {
  std::string digest;  // "sha256:..."
  std::int64_t size = 0;
};

struct ImageManifest {
  BlobDescriptor config;
  std::vector<BlobDescriptor> layers;  // lowest first
};

// Refuses what is no image: another kind of config, or layers that are not tars, encrypted ones say.
Result<ImageManifest> read_image_manifest(std::string_view json);
// index.json of a layout with one image: its manifest.
Result<BlobDescriptor> read_layout_index(std::string_view json);

// "ChainID(layerN) = SHA256hex(ChainID(layerN-1) + " " + DiffID(layerN))" (OCI Image Configuration, "Layer ChainID"):
// names a layer together with those below it. In the order of the diff ids.
std::vector<std::string> chain_ids(const std::vector<std::string>& diff_ids);

}  // namespace berth
