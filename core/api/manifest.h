// Manifest: the JSON of an object that is kept beside its typed form. It is text; who looks into it gets a tree of his
// own, which lives as long as the look: a tree takes seven times the memory, and most pods are only placed and counted.
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
  // `text`: what text() gave.
  static Manifest of_text(Text text) {
    Manifest manifest;
    manifest.text_ = std::move(text);
    return manifest;
  }

  bool is_null() const { return text_.empty(); }
  // Compact; empty for null.
  std::string_view text() const& { return text_.get(); }
  std::string text() && { return std::string(text_); }
  // Parsed anew each time. Null for null; a text that is no JSON gives an empty object.
  Json json() const;

  bool operator==(const Manifest&) const = default;

 private:
  Text text_;
};

}  // namespace berth
