// TimeZoneFolder: the compiled time zones of the system, from Debian's package tzdata. Where it is not installed only
// UTC is known.
#pragma once

#include <string>

#include "core/controllers/time_zones/time_zone.h"

namespace berth {

class TimeZoneFolder final : public TimeZoneFiles {
 public:
  explicit TimeZoneFolder(std::string folder = "/usr/share/zoneinfo") : folder_(std::move(folder)) {}
  std::optional<std::string> read(std::string_view name) const override;

 private:
  std::string folder_;
};

}  // namespace berth
