#include "core/placement/pod_news.h"

#include <cstdint>
#include <map>

#include "core/api/names.h"

namespace berth {

namespace {

std::map<std::string, std::int64_t> restarts_of(const Json& report) {
  std::map<std::string, std::int64_t> restarts;
  for (const std::string_view member : {"initContainerStatuses", "containerStatuses"}) {
    const Json* statuses = report.is_object() ? report.find(member) : nullptr;
    if (statuses == nullptr || !statuses->is_array()) continue;
    for (const Json& status : statuses->as_array()) {
      const Json* count = status.is_object() ? status.find("restartCount") : nullptr;
      if (count != nullptr && count->is_integer()) restarts[status.string_at("name")] = count->as_int();
    }
  }
  return restarts;
}

}  // namespace

std::vector<std::string> restarted_containers(const Json& before, const Json& now) {
  std::vector<std::string> restarted;
  const std::map<std::string, std::int64_t> known = restarts_of(before);
  for (const auto& [name, count] : restarts_of(now)) {
    const auto earlier = known.find(name);
    if (count > (earlier == known.end() ? 0 : earlier->second) && is_valid_name(name)) restarted.push_back(name);
  }
  return restarted;
}

}  // namespace berth
