#include "core/objects/node_limits.h"

#include <utility>

namespace berth {

namespace {

std::size_t count_of(const Json& facts, std::string_view key) {
  const Json* found = facts.find(key);
  if (found == nullptr) return 0;
  if (found->is_object()) return found->as_object().size();
  return found->type() == Json::Type::array ? found->as_array().size() : 0;
}

}  // namespace

std::string excess_text(const std::string& what, std::string_view key, const std::string& limit) {
  return what + ", more than the " + limit + " that node_limits." + std::string(key) + " allows";
}

std::string find_excess(const NodeLimits& limits, const Json& facts, const ResourceList& allocatable) {
  for (const auto& [name, limit] :
       {std::pair{"cpu", &limits.cpu}, {"memory", &limits.memory}, {"pods", &limits.pods}}) {
    const auto found = allocatable.find(name);
    if (found == allocatable.end() || found->second <= *limit) continue;
    return excess_text("allocatable." + std::string(name) + " is " + found->second.to_text(), name, limit->to_text());
  }
  for (const auto& [name, limit] : {std::pair{"volumes", limits.volumes}, {"labels", limits.labels}}) {
    const std::size_t count = count_of(facts, name);
    if (count <= limit) continue;
    return excess_text("the state has " + std::to_string(count) + " " + name, name, std::to_string(limit));
  }
  return {};
}

}  // namespace berth
