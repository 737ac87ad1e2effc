#include "firmware-host/agent/pod_order.h"

#include <optional>

#include "core/json/json.h"
#include "firmware-host/agent/pod_directory.h"

namespace berth {

// A line of JSON, then the manifest as it is: in a text of JSON it would be longer than a manifest may be.
std::string PodOrder::text() const {
  Json bound = Json::array();
  for (const BoundVolume& volume : volumes) {
    Json one = Json::object();
    one.set("claim", Json(volume.claim)).set("volume", Json(volume.volume)).set("path", Json(volume.path));
    bound.push_back(std::move(one));
  }
  Json order = Json::object();
  order.set("pod", Json(directory_name(tag))).set("volumes", std::move(bound));
  return order.dump() + '\n' + manifest;
}

Result<PodOrder> PodOrder::read(const std::string& text) {
  const std::size_t line = text.find('\n');
  if (line == std::string::npos) return Status::error("an order without a manifest");
  const Result<Json> json = Json::parse(text.substr(0, line));
  if (!json) return json.error();
  const std::optional<Tag> tag = tag_of_directory(json->string_at("pod"));
  const Json* bound = json->find("volumes");
  if (!tag || bound == nullptr) return Status::error("an order without pod or volumes");
  PodOrder order{*tag, text.substr(line + 1), {}};
  for (const Json& each : bound->as_array()) {
    order.volumes.push_back({each.string_at("claim"), each.string_at("volume"), each.string_at("path")});
  }
  return order;
}

}  // namespace berth
