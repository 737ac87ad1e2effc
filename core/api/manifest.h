// Manifest: the JSON of an object that is kept beside its typed form. One that was read from the store stays text until
// somebody looks into it: after a start most pods are only placed and counted.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/api/json.h"

namespace berth {

class Manifest {
 public:
  Manifest() = default;
  Manifest(Json json) : json_(std::move(json)) {}
  // `text`: what dump() gave. Anything else is an empty object.
  static Manifest of_text(std::string text);

  const Json& json() const;
  bool is_null() const { return text_.empty() && json_.is_null(); }
  operator const Json&() const { return json(); }
  const Json* find(std::string_view key) const { return json().find(key); }
  Json* find(std::string_view key);
  void set(std::string_view key, Json value);
  void erase(std::string_view key);
  // Compact text.
  std::string dump() const { return text_.empty() ? json_.dump() : text_; }

  friend bool operator==(const Manifest& a, const Manifest& b) { return a.json() == b.json(); }
  friend bool operator==(const Manifest& a, const Json& b) { return a.json() == b; }

 private:
  mutable Json json_;
  mutable std::string text_;  // not empty: json_ was not asked for yet
};

}  // namespace berth
