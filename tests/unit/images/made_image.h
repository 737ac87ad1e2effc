// Images that a test makes: an OCI layout with a manifest for each platform (OCI image-spec, Image Layout).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "tests/unit/images/made_layer.h"

namespace berth {

struct MadeImage {
  std::string architecture = "amd64";
  std::vector<MadeLayer> layers;
  std::string config = R"({"Cmd":["/bin/app"]})";  // JSON
  std::string variant = {};                        // "v7"; empty: it says none
};

class MadeLayout {
 public:
  explicit MadeLayout(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path_ + "/blobs/sha256");
    write_file(path_ + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  }

  // Of several images, an index of them all is what "image" means.
  void write(const std::vector<MadeImage>& images) {
    Json manifests = Json::array();
    for (const MadeImage& image : images) {
      manifests.push_back(manifest_of(image).set("platform", platform_of(image)));
    }
    Json top = manifests.as_array()[0];
    if (images.size() > 1) {
      const Json all = Json::object()
                           .set("schemaVersion", Json(2))
                           .set("mediaType", Json("application/vnd.oci.image.index.v1+json"))
                           .set("manifests", manifests);
      top = blob(all.dump(), "application/vnd.oci.image.index.v1+json");
    }
    top.set("annotations", Json::object().set("org.opencontainers.image.ref.name", Json("image")));
    Json index = Json::object().set("schemaVersion", Json(2));
    index.set("manifests", Json(Json::Array{top}));
    write_file(path_ + "/index.json", index.dump());
  }

  std::string source() const { return "oci:" + path_ + ":image"; }

 private:
  Json blob(const std::string& bytes, const std::string& type) {
    const std::string digest = sha256_digest(bytes);
    write_file(path_ + "/blobs/sha256/" + digest.substr(7), bytes);
    return Json::object()
        .set("mediaType", Json(type))
        .set("digest", Json(digest))
        .set("size", Json(static_cast<std::int64_t>(bytes.size())));
  }

  static Json platform_of(const MadeImage& image) {
    Json platform = Json::object().set("os", Json("linux")).set("architecture", Json(image.architecture));
    if (!image.variant.empty()) platform.set("variant", Json(image.variant));
    return platform;
  }

  Json manifest_of(const MadeImage& image) {
    Json diff_ids = Json::array();
    Json layers = Json::array();
    for (const MadeLayer& layer : image.layers) {
      diff_ids.push_back(Json(layer.diff_id));
      layers.push_back(blob(layer.blob, "application/vnd.oci.image.layer.v1.tar+gzip"));
    }
    const Json config =
        platform_of(image)
            .set("config", Json::parse(image.config).value())
            .set("rootfs", Json::object().set("type", Json("layers")).set("diff_ids", std::move(diff_ids)));
    const Json manifest = Json::object()
                              .set("schemaVersion", Json(2))
                              .set("mediaType", Json("application/vnd.oci.image.manifest.v1+json"))
                              .set("config", blob(config.dump(), "application/vnd.oci.image.config.v1+json"))
                              .set("layers", std::move(layers));
    return blob(manifest.dump(), "application/vnd.oci.image.manifest.v1+json");
  }

  std::string path_;
};

}  // namespace berth
