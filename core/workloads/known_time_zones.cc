#include "core/workloads/known_time_zones.h"

namespace berth {
namespace {

class OnlyUtc final : public TimeZoneFiles {
 public:
  std::optional<std::string> read(std::string_view) const override { return std::nullopt; }
};

}  // namespace

const TimeZoneFiles& known_time_zones(const GatewayOptions& options) {
  static const OnlyUtc kOnlyUtc;
  return options.time_zones == nullptr ? kOnlyUtc : *options.time_zones;
}

}  // namespace berth
