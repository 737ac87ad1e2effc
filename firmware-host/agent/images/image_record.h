// ImageRecord: what a reference has been resolved to, as the store keeps it in a small file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"

namespace berth {

struct ImageLayer {
  std::string digest;   // of the blob
  std::string diff_id;  // of the tar in it
  bool operator==(const ImageLayer&) const = default;
};

struct ImageRecord {
  std::string reference;           // ImageReference::text()
  std::string manifest;            // digest of the manifest on this device, which is in OCI's form always
  std::string config;              // digest: the id of the image
  std::vector<ImageLayer> layers;  // lowest first
  std::int64_t size = 0;           // in bytes, of manifest, config and layers, compressed as they lie here
  Millis used = 0;                 // wall time of the last use

  std::vector<std::string> chain() const;  // chain ids of the layers
  std::string text() const;                // JSON
  bool operator==(const ImageRecord&) const = default;
};

Result<ImageRecord> read_image_record(std::string_view json);

}  // namespace berth
