#include "core/api/manifest.h"

namespace berth {

Manifest Manifest::of_text(std::string text) {
  Manifest manifest;
  manifest.text_ = std::move(text);
  if (manifest.text_.empty()) manifest.json_ = Json::object();
  return manifest;
}

const Json& Manifest::json() const {
  if (!text_.empty()) {
    Result<Json> parsed = Json::parse(text_, {.bytes = text_.size(), .depth = 80});
    json_ = parsed ? std::move(*parsed) : Json::object();
    text_ = {};
  }
  return json_;
}

Json* Manifest::find(std::string_view key) {
  json();
  return json_.find(key);
}

void Manifest::set(std::string_view key, Json value) {
  json();
  json_.set(key, std::move(value));
}

void Manifest::erase(std::string_view key) {
  json();
  json_.erase(key);
}

}  // namespace berth
