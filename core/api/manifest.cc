#include "core/api/manifest.h"

#include "core/api/pod.h"
#include "core/api/shape.h"

namespace berth {

Json Manifest::json() const {
  if (text_.empty()) return {};
  Result<Json> parsed = Json::parse(text_.get(), {.bytes = text_.size(), .depth = 80});
  return parsed ? std::move(*parsed) : Json::object();
}

Manifest Pod::manifest() const { return Manifest::of_text(fill_shape(shape, metadata.uid, metadata.name)); }

void Pod::set_manifest(std::string_view text) { shape = Text::common(shape_of(text, metadata.uid, metadata.name)); }

}  // namespace berth
