#include "core/placement/retired.h"

namespace berth {

bool is_retired(const Identity& identity, const std::string& node, const std::string& incarnation) {
  const std::set<std::string>& retired = identity.retired;
  if (retired.empty()) return false;
  if (!incarnation.empty()) return retired.contains(node + "/" + incarnation) || retired.contains(node + "/");
  const auto first = retired.lower_bound(node + "/");
  return first != retired.end() && first->starts_with(node + "/");
}

bool is_retired(const Identity& identity, const Nodes& nodes, const std::string& node) {
  const auto known = nodes.all().find(node);
  return is_retired(identity, node, known == nodes.all().end() ? std::string() : known->second.incarnation);
}

}  // namespace berth
