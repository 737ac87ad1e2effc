#include "firmware-host/agent/images/image_record.h"

#include "core/json/json.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/image_manifest.h"
#include "firmware-host/agent/images/json_fields.h"

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
  Status fault;
  JsonFields root(&*parsed, "", {.entries = ImageConfig::kMostLayers, .string = 4096}, fault);
  ImageRecord record;
  record.reference = root.string("reference", true);
  record.manifest = root.digest("manifest");
  record.config = root.digest("config");
  for (JsonFields& layer : root.objects("layers")) {
    record.layers.push_back({.digest = layer.digest("digest"), .diff_id = layer.digest("diffId")});
  }
  record.size = root.size("size");
  record.used = root.size("used");
  if (!fault.is_success()) return Status::error("record of an image: " + fault.message());
  return record;
}

}  // namespace berth
