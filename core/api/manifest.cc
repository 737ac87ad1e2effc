#include "core/api/manifest.h"

namespace berth {

Json Manifest::json() const {
  if (text_.empty()) return {};
  Result<Json> parsed = Json::parse(text_, {.bytes = text_.size(), .depth = 80});
  return parsed ? std::move(*parsed) : Json::object();
}

}  // namespace berth
