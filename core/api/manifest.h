// Manifest: the JSON of an object, kept beside its typed form. It is stored as text and parsed on demand: a tree takes
// seven times the memory, and the manifest of most pods is hardly ever read.
#pragma once

#include <string>
#include <utility>

#include "core/json/json.h"
#include "core/text.h"

namespace berth {

class Manifest {
 public:
  Manifest() = default;
  Manifest(const Json& json) : Manifest(of_text(json.is_null() ? std::string() : json.dump())) {}
  // `text`: the result of text().
  static Manifest of_text(Text text) {
    Manifest manifest;
    manifest.text_ = std::move(text);
    return manifest;
  }

  bool is_null() const { return text_.empty(); }
  // Compact; empty for null.
  std::string_view text() const& { return text_.get(); }
  std::string text() && { return std::string(text_); }
  // Parses the text on each call. Null for null; an empty object if the text is not JSON.
  Json json() const;

  bool operator==(const Manifest&) const = default;

 private:
  Text text_;
};

}  // namespace berth
