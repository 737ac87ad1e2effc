#include "core/json/canonical.h"

#include <algorithm>

namespace berth {
namespace {

Json sorted(const Json& value) {
  if (value.is_array()) {
    Json::Array items;
    for (const Json& item : value.as_array()) items.push_back(sorted(item));
    return items;
  }
  if (!value.is_object()) return value;
  Json::Object members;
  for (const auto& [key, member] : value.as_object()) members.emplace_back(key, sorted(member));
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return members;
}

}  // namespace

bool is_same(const Json& a, const Json& b) {
  if (a.is_array() && b.is_array()) {
    return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(), b.as_array().end(), is_same);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  if (a.as_object().size() != b.as_object().size()) return false;
  return std::all_of(a.as_object().begin(), a.as_object().end(), [&](const Json::Member& member) {
    const Json* other = b.find(member.first);
    return other != nullptr && is_same(member.second, *other);
  });
}

std::string canonical_text(const Json& value) { return sorted(value).dump(); }

}  // namespace berth
