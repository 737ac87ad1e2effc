#include "core/objects/reserved_labels.h"

#include "core/json/utf8.h"

namespace berth {

namespace {

constexpr std::string_view kOperators = "operator.berth";
constexpr std::string_view kNodeRestriction = "node-restriction.kubernetes.io";
// They become part of the node's status, which must fit into a message.
constexpr std::size_t kMaxShown = 8;
constexpr std::size_t kMaxShownBytes = 160;

}  // namespace

bool is_operators_label(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = key.substr(0, slash);
  if (domain == kOperators || domain == kNodeRestriction) return true;
  return domain.ends_with(kNodeRestriction) && domain[domain.size() - kNodeRestriction.size() - 1] == '.';
}

bool is_ignored_label(const std::string& node, std::string_view key, const Json& value) {
  return is_operators_label(key) || (key == kHostnameLabel && value != Json(node));
}

std::string ignored_labels(const std::string& node, const Json& labels) {
  if (!labels.is_object()) return {};
  std::string shown;
  std::size_t count = 0;
  for (const auto& [key, value] : labels.as_object()) {
    if (!is_ignored_label(node, key, value) || ++count > kMaxShown) continue;
    const std::string label = key + "=" + (value.is_string() ? value.as_string() : value.dump());
    shown += (shown.empty() ? "" : ", ") + shorten(label, kMaxShownBytes);
  }
  return count > kMaxShown ? shown + " and " + std::to_string(count - kMaxShown) + " more" : shown;
}

}  // namespace berth
