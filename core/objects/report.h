// Report: what is shown of the last status that a device reported of a pod. Those of pods alike differ in epoch and
// start.
#pragma once

#include <string>

#include "core/handshake/epoch.h"
#include "core/json/json.h"
#include "core/text.h"

namespace berth {

class Report {
 public:
  Report() = default;
  // An object, or null: none.
  explicit Report(const Json& observed);

  bool is_null() const { return shape_.empty(); }
  std::string text() const;  // compact; empty for none
  Json json() const;         // null for none
  bool operator==(const Report&) const = default;

 private:
  Epoch epoch_;
  Text start_;
  Text shape_;  // first the epoch, then the start
};

}  // namespace berth
