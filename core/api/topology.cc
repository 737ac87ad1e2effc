#include "core/api/topology.h"

namespace berth {

std::string zone_key(const Labels& labels) {
  const auto label = [&labels](const char* beta, const char* stable) {
    for (const char* key : {beta, stable}) {
      if (const auto found = labels.find(key); found != labels.end()) return found->second;
    }
    return std::string();
  };
  const std::string zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
  const std::string region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
  return zone.empty() && region.empty() ? std::string() : region + ":" + std::string(1, '\0') + ":" + zone;
}

}  // namespace berth
