#include "firmware-host/agent/images/image_record.h"

#include "core/json/field_reader.h"
#include "core/json/json.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/image_fields.h"
#include "firmware-host/agent/images/image_manifest.h"

namespace berth {

std::vector<std::string> ImageRecord::chain() const {
  std::vector<std::string> diff_ids;
  for (const ImageLayer& layer : layers) diff_ids.push_back(layer.diff_id);
  return chain_ids(diff_ids);
}

std::string ImageRecord::text() const {
  Json list = Json::array();
  for (const ImageLayer& layer : layers) {
    list.push_back(Json::object().set("digest", Json(layer.digest)).set("diffId", Json(layer.diff_id)));
  }
  return Json::object()
      .set("reference", Json(reference))
      .set("manifest", Json(manifest))
      .set("config", Json(config))
      .set("layers", std::move(list))
      .set("size", Json(size))
      .set("used", Json(static_cast<std::int64_t>(used)))
      .dump();
}

Result<ImageRecord> read_image_record(std::string_view json) {
  const Result<Json> parsed = Json::parse(json, {.bytes = ImageConfig::kMostBytes, .depth = 8});
  if (!parsed) return Status::error("record of an image: " + parsed.error().message());
  Findings findings(Findings::Bounds{.entries = ImageConfig::kMostLayers, .bytes = 4096});
  FieldReader root(*parsed, "", findings);
  ImageRecord record;
  require_text(root, "reference", record.reference);
  require_digest(root, "manifest", record.manifest);
  require_digest(root, "config", record.config);
  root.read_each("layers", [&](FieldReader& layer) {
    ImageLayer read;
    require_digest(layer, "digest", read.digest);
    require_digest(layer, "diffId", read.diff_id);
    record.layers.push_back(std::move(read));
  });
  require_size(root, "size", record.size);
  require_size(root, "used", record.used);
  if (findings.has_errors()) return Status::error("record of an image: " + findings.status().message());
  return record;
}

}  // namespace berth
